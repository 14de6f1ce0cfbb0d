ALTER TABLE `erased_entries` ADD `note` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `trees` ADD `note` text;