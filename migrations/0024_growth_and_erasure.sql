ALTER TABLE `permissions` ADD `erase_at` integer;--> statement-breakpoint
CREATE INDEX `permissions_to_erase` ON `permissions` (`erase_at`) WHERE erase_at is not null;--> statement-breakpoint
CREATE INDEX `members_by_role` ON `members` (`account`,`role`,`active_since`) WHERE status = 1;--> statement-breakpoint
UPDATE `permissions` SET `erase_at` = `token_expires_at` WHERE `token_status` = 0 AND `token_uses` > 0 AND `account` NOT IN (SELECT `account` FROM `moves`) AND NOT EXISTS (SELECT 1 FROM `audit_entries` WHERE `audit_entries`.`id` = `permissions`.`last_entry`);
