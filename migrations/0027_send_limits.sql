CREATE TABLE `send_counts` (
	`key` blob PRIMARY KEY NOT NULL,
	`since` integer NOT NULL,
	`count` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `send_counts_by_age` ON `send_counts` (`since`);--> statement-breakpoint
ALTER TABLE `deliveries` ADD `postponements` integer;--> statement-breakpoint
ALTER TABLE `members` ADD `email_proven_at` integer;