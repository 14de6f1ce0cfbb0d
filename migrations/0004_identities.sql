CREATE TABLE `identities` (
	`key` blob PRIMARY KEY NOT NULL,
	`account` blob NOT NULL,
	`shard` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `identities_by_account` ON `identities` (`account`);--> statement-breakpoint
CREATE TABLE `provider_keys` (
	`issuer` text PRIMARY KEY NOT NULL,
	`keys` text,
	`fetched_at` integer NOT NULL,
	`asked_at` integer NOT NULL
) WITHOUT ROWID;
