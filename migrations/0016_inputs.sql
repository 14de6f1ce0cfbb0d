CREATE TABLE `permission_contents` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`input` text,
	`preview` text,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `permissions` ADD `title` text;--> statement-breakpoint
ALTER TABLE `permissions` ADD `input_digest` text;--> statement-breakpoint
ALTER TABLE `permissions` ADD `preview_digest` text;--> statement-breakpoint
ALTER TABLE `permissions` ADD `external_id` text;--> statement-breakpoint
CREATE INDEX `permissions_by_external_id` ON `permissions` (`account`,`external_id`,`agent`) WHERE external_id is not null;--> statement-breakpoint
CREATE TRIGGER `permission_contents_moving_insert` BEFORE INSERT ON `permission_contents` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'permission_contents', json_array(hex(NEW.`id`)) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `permission_contents_moving_update` BEFORE UPDATE ON `permission_contents` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'permission_contents', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `permission_contents_moving_delete` BEFORE DELETE ON `permission_contents` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'permission_contents', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `permissions_contents_delete` AFTER DELETE ON `permissions` WHEN OLD.`account` NOT IN (SELECT `account` FROM `move_turns`) BEGIN DELETE FROM `permission_contents` WHERE `account` = OLD.`account` AND `id` = OLD.`id`; END;
--> statement-breakpoint
CREATE TRIGGER `permissions_external_id` BEFORE INSERT ON `permissions` WHEN NEW.`external_id` IS NOT NULL AND NEW.`account` NOT IN (SELECT `account` FROM `move_turns`) AND EXISTS (SELECT 1 FROM `permissions` AS `other` WHERE `other`.`account` = NEW.`account` AND `other`.`external_id` = NEW.`external_id` AND `other`.`agent` = NEW.`agent`) BEGIN SELECT RAISE(ABORT, 'the external id is taken'); END;
--> statement-breakpoint
DELETE FROM `moves` WHERE `direction` = 0 AND NOT `has_left`;