CREATE TABLE `move_turns` (
	`account` integer PRIMARY KEY NOT NULL,
	`turn` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `moved_accounts` (
	`id` blob PRIMARY KEY NOT NULL,
	`shard` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `moved_credentials` (
	`hash` blob PRIMARY KEY NOT NULL,
	`account` blob NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `moved_credentials_by_account` ON `moved_credentials` (`account`);--> statement-breakpoint
CREATE TABLE `moves` (
	`account` integer PRIMARY KEY NOT NULL,
	`id` blob NOT NULL,
	`direction` integer NOT NULL,
	`shard` text NOT NULL,
	`turns` integer DEFAULT 0 NOT NULL,
	`step` integer DEFAULT 0 NOT NULL,
	`after` text,
	`has_left` integer DEFAULT false NOT NULL,
	`agent_offset` integer DEFAULT 0 NOT NULL,
	`webhook_offset` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `moves_by_id` ON `moves` (`id`);--> statement-breakpoint
CREATE TRIGGER `accounts_moving_insert` BEFORE INSERT ON `accounts` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`number` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `accounts_moving_update` BEFORE UPDATE ON `accounts` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`number` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `accounts_moving_delete` BEFORE DELETE ON `accounts` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`number` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `user_tokens_moving_insert` BEFORE INSERT ON `user_tokens` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `user_tokens_moving_update` BEFORE UPDATE ON `user_tokens` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `user_tokens_moving_delete` BEFORE DELETE ON `user_tokens` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `agents_moving_insert` BEFORE INSERT ON `agents` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `agents_moving_update` BEFORE UPDATE ON `agents` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `agents_moving_delete` BEFORE DELETE ON `agents` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `permissions_moving_insert` BEFORE INSERT ON `permissions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `permissions_moving_update` BEFORE UPDATE ON `permissions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `permissions_moving_delete` BEFORE DELETE ON `permissions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `policies_moving_insert` BEFORE INSERT ON `policies` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `policies_moving_update` BEFORE UPDATE ON `policies` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `policies_moving_delete` BEFORE DELETE ON `policies` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `audit_entries_moving_insert` BEFORE INSERT ON `audit_entries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`pos` / 4294967296 AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `audit_entries_moving_update` BEFORE UPDATE ON `audit_entries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`pos` / 4294967296 AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `audit_entries_moving_delete` BEFORE DELETE ON `audit_entries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`pos` / 4294967296 AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `trees_moving_insert` BEFORE INSERT ON `trees` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `trees_moving_update` BEFORE UPDATE ON `trees` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `trees_moving_delete` BEFORE DELETE ON `trees` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `erased_entries_moving_insert` BEFORE INSERT ON `erased_entries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `erased_entries_moving_update` BEFORE UPDATE ON `erased_entries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `erased_entries_moving_delete` BEFORE DELETE ON `erased_entries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `activity_moving_insert` BEFORE INSERT ON `activity` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `activity_moving_update` BEFORE UPDATE ON `activity` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `activity_moving_delete` BEFORE DELETE ON `activity` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `files_moving_insert` BEFORE INSERT ON `files` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `files_moving_update` BEFORE UPDATE ON `files` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `files_moving_delete` BEFORE DELETE ON `files` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `file_outcomes_moving_insert` BEFORE INSERT ON `file_outcomes` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `file_outcomes_moving_update` BEFORE UPDATE ON `file_outcomes` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `file_outcomes_moving_delete` BEFORE DELETE ON `file_outcomes` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `webhooks_moving_insert` BEFORE INSERT ON `webhooks` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `webhooks_moving_update` BEFORE UPDATE ON `webhooks` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `webhooks_moving_delete` BEFORE DELETE ON `webhooks` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `webhook_feeds_moving_insert` BEFORE INSERT ON `webhook_feeds` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `webhook_feeds_moving_update` BEFORE UPDATE ON `webhook_feeds` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `webhook_feeds_moving_delete` BEFORE DELETE ON `webhook_feeds` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `deliveries_moving_insert` BEFORE INSERT ON `deliveries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = (SELECT `webhooks`.`account` FROM `webhooks` WHERE `webhooks`.`number` = NEW.`webhook`) AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `deliveries_moving_update` BEFORE UPDATE ON `deliveries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = (SELECT `webhooks`.`account` FROM `webhooks` WHERE `webhooks`.`number` = OLD.`webhook`) AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `deliveries_moving_delete` BEFORE DELETE ON `deliveries` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = (SELECT `webhooks`.`account` FROM `webhooks` WHERE `webhooks`.`number` = OLD.`webhook`) AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;--> statement-breakpoint
CREATE TRIGGER `accounts_moved` BEFORE INSERT ON `accounts` WHEN EXISTS (SELECT 1 FROM `moved_accounts` WHERE `id` = NEW.`id`) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;
