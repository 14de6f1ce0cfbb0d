CREATE TABLE `erased_entries` (
	`id` integer PRIMARY KEY NOT NULL,
	`account` integer NOT NULL,
	`reason` integer NOT NULL,
	`ranges` text NOT NULL,
	`erased_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `erased_entries_by_account` ON `erased_entries` (`account`);--> statement-breakpoint
CREATE TABLE `trees` (
	`account` integer PRIMARY KEY NOT NULL,
	`size` integer DEFAULT 0 NOT NULL,
	`root` blob,
	`sealed_at` integer,
	`edge` blob DEFAULT x'' NOT NULL,
	`published_size` integer DEFAULT 0 NOT NULL,
	`published_at` integer DEFAULT 0 NOT NULL,
	`due_at` integer
);
--> statement-breakpoint
CREATE INDEX `trees_due` ON `trees` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
ALTER TABLE `accounts` ADD `retention_due_at` integer;--> statement-breakpoint
CREATE INDEX `accounts_retention_due` ON `accounts` (`retention_due_at`) WHERE retention_due_at is not null;--> statement-breakpoint
ALTER TABLE `erasures` ADD `due_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
INSERT INTO `trees` (`account`, `due_at`) SELECT `number`, 0 FROM `accounts`;--> statement-breakpoint
UPDATE `accounts` SET `retention_due_at` = 0;
