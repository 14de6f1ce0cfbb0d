CREATE TABLE `stored_answers` (
	`principal` blob NOT NULL,
	`key` blob NOT NULL,
	`request` blob NOT NULL,
	`answer` blob NOT NULL,
	`settled` text,
	`subject` blob NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`principal`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `stored_answers_by_subject` ON `stored_answers` (`subject`);--> statement-breakpoint
CREATE INDEX `stored_answers_by_age` ON `stored_answers` (`created_at`);--> statement-breakpoint
ALTER TABLE `erasures` ADD `subject` blob DEFAULT x'' NOT NULL;