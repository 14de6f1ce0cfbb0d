CREATE TABLE `deliveries` (
	`webhook` integer NOT NULL,
	`id` blob NOT NULL,
	`original` blob,
	`generation` integer NOT NULL,
	`event` integer NOT NULL,
	`pos` integer,
	`agent` integer,
	`payload` text,
	`status` integer NOT NULL,
	`attempts` integer NOT NULL,
	`due_at` integer,
	`last_status_code` integer,
	`last_error` text,
	`duration` integer,
	`failures` text,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	PRIMARY KEY(`webhook`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`webhook`,`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `deliveries_failed` ON `deliveries` (`webhook`,`id`) WHERE status = 2;--> statement-breakpoint
CREATE INDEX `deliveries_by_agent` ON `deliveries` (`agent`) WHERE agent is not null;--> statement-breakpoint
CREATE TABLE `file_outcomes` (
	`account` integer NOT NULL,
	`kind` integer NOT NULL,
	`id` blob NOT NULL,
	`is_failure` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account`, `kind`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhook_feeds` (
	`account` integer PRIMARY KEY NOT NULL,
	`position` integer NOT NULL,
	`due_at` integer
);
--> statement-breakpoint
CREATE INDEX `webhook_feeds_due` ON `webhook_feeds` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE TABLE `webhooks` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`url` text NOT NULL,
	`description` text,
	`events` text NOT NULL,
	`agent_ids` text,
	`is_active` integer NOT NULL,
	`disabled_reason` text,
	`secret` blob NOT NULL,
	`old_secret` blob,
	`old_secret_expires_at` integer,
	`starts_after` integer NOT NULL,
	`generation` integer DEFAULT 0 NOT NULL,
	`has_void` integer DEFAULT false NOT NULL,
	`is_slow` integer DEFAULT false NOT NULL,
	`failing_since` integer,
	`lease` blob,
	`due_at` integer,
	`erase_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_by_account` ON `webhooks` (`account`,`id`);--> statement-breakpoint
CREATE INDEX `webhooks_due` ON `webhooks` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `webhooks_to_erase` ON `webhooks` (`erase_at`) WHERE erase_at is not null;