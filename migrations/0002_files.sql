CREATE TABLE `files` (
	`account` integer NOT NULL,
	`kind` integer NOT NULL,
	`id` blob NOT NULL,
	`format` integer NOT NULL,
	`request` text NOT NULL,
	`agent` integer,
	`snapshot` integer NOT NULL,
	`kept_from` integer NOT NULL,
	`status` integer NOT NULL,
	`error` text,
	`row_count` integer,
	`size` integer,
	`sha256` blob,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	`expires_at` integer,
	`downloaded_at` integer,
	`lease` blob,
	`attempts` integer DEFAULT 0 NOT NULL,
	`state` text,
	`upload_id` text,
	`due_at` integer,
	PRIMARY KEY(`account`, `kind`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `files_by_status` ON `files` (`account`,`status`);--> statement-breakpoint
CREATE INDEX `files_due` ON `files` (`due_at`) WHERE due_at is not null;