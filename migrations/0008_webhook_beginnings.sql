ALTER TABLE `file_outcomes` ADD `ordinal` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `starts_after_outcome` integer DEFAULT 0 NOT NULL;