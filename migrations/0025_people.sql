CREATE TABLE `sign_in_challenges` (
	`challenge` blob PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sign_in_challenges_by_expiry` ON `sign_in_challenges` (`expires_at`);--> statement-breakpoint
ALTER TABLE `members` ADD `invited_by` blob;--> statement-breakpoint
ALTER TABLE `passkeys` ADD `first_counter` integer;--> statement-breakpoint
ALTER TABLE `policies` ADD `created_by` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `authenticated_at` integer;--> statement-breakpoint
ALTER TABLE `user_tokens` ADD `created_by` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `created_by` text;
--> statement-breakpoint
INSERT INTO `move_turns` (`account`, `turn`) SELECT `account`, 0 FROM `moves`;--> statement-breakpoint
UPDATE `passkeys` SET `first_counter` = 0 WHERE `counter` = 0;--> statement-breakpoint
DELETE FROM `move_turns`;
