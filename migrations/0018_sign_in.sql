CREATE TABLE `passkeys` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`member` blob NOT NULL,
	`name` text NOT NULL,
	`public_key` blob NOT NULL,
	`counter` integer NOT NULL,
	`added_at` integer NOT NULL,
	`removed_at` integer,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `passkeys_by_member` ON `passkeys` (`account`,`member`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`hash` blob PRIMARY KEY NOT NULL,
	`id` blob NOT NULL,
	`account` integer NOT NULL,
	`member` blob NOT NULL,
	`ip_address` text NOT NULL,
	`user_agent` text NOT NULL,
	`last_seen_at` integer NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_by_account` ON `sessions` (`account`,`id`);--> statement-breakpoint
CREATE INDEX `sessions_by_member` ON `sessions` (`account`,`member`);--> statement-breakpoint
CREATE INDEX `sessions_by_age` ON `sessions` (`created_at`);--> statement-breakpoint
CREATE TABLE `used_challenges` (
	`account` integer NOT NULL,
	`challenge` blob NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`account`, `challenge`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `used_challenges_by_expiry` ON `used_challenges` (`expires_at`);
--> statement-breakpoint
CREATE TRIGGER `passkeys_moving_insert` BEFORE INSERT ON `passkeys` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'passkeys', json_array(hex(NEW.`id`)) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `passkeys_moving_update` BEFORE UPDATE ON `passkeys` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'passkeys', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `passkeys_moving_delete` BEFORE DELETE ON `passkeys` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'passkeys', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `sessions_moving_insert` BEFORE INSERT ON `sessions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'sessions', json_array(hex(NEW.`id`)) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `sessions_moving_update` BEFORE UPDATE ON `sessions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'sessions', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `sessions_moving_delete` BEFORE DELETE ON `sessions` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'sessions', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `used_challenges_moving_insert` BEFORE INSERT ON `used_challenges` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'used_challenges', json_array(hex(NEW.`challenge`)) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `used_challenges_moving_update` BEFORE UPDATE ON `used_challenges` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'used_challenges', json_array(hex(OLD.`challenge`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `used_challenges_moving_delete` BEFORE DELETE ON `used_challenges` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'used_challenges', json_array(hex(OLD.`challenge`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
DELETE FROM `moves` WHERE `direction` = 0 AND NOT `has_left`;
