CREATE TABLE `__new_sessions` (
	`hash` blob PRIMARY KEY NOT NULL,
	`id` blob NOT NULL,
	`account` integer NOT NULL,
	`member` blob,
	`token` blob,
	`ip_address` text NOT NULL,
	`user_agent` text NOT NULL,
	`last_seen_at` integer NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_sessions`("hash", "id", "account", "member", "ip_address", "user_agent", "last_seen_at", "created_at") SELECT "hash", "id", "account", "member", "ip_address", "user_agent", "last_seen_at", "created_at" FROM `sessions`;--> statement-breakpoint
DROP TABLE `sessions`;--> statement-breakpoint
ALTER TABLE `__new_sessions` RENAME TO `sessions`;--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_by_account` ON `sessions` (`account`,`id`);--> statement-breakpoint
CREATE INDEX `sessions_by_member` ON `sessions` (`account`,`member`);--> statement-breakpoint
CREATE INDEX `sessions_by_token` ON `sessions` (`account`,`token`) WHERE token is not null;--> statement-breakpoint
CREATE INDEX `sessions_by_age` ON `sessions` (`created_at`);
--> statement-breakpoint
CREATE TRIGGER `sessions_moving_insert` BEFORE INSERT ON `sessions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'sessions', json_array(hex(NEW.`id`)) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `sessions_moving_update` BEFORE UPDATE ON `sessions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'sessions', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `sessions_moving_delete` BEFORE DELETE ON `sessions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'sessions', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
DELETE FROM `moves` WHERE `direction` = 0 AND NOT `has_left`;
