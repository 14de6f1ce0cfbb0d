DROP INDEX `permissions_overdue`;--> statement-breakpoint
CREATE INDEX `permissions_waiting` ON `permissions` (`account`,`expires_at`,`id`,`agent`,`created_at`) WHERE status = 0;