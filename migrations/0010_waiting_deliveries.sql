DROP INDEX `deliveries_due`;--> statement-breakpoint
CREATE INDEX `deliveries_fresh` ON `deliveries` (`webhook`,`generation`,`id`) WHERE status = 0 and attempts = 0;--> statement-breakpoint
CREATE INDEX `deliveries_retried` ON `deliveries` (`webhook`,`generation`,`id`) WHERE status = 0 and attempts > 0;--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`webhook`,`generation`,`due_at`) WHERE due_at is not null and attempts > 0;