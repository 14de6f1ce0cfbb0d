CREATE TABLE `held_messages` (
	`account` integer NOT NULL,
	`webhook` integer NOT NULL,
	`member` blob NOT NULL,
	`permission` blob NOT NULL,
	`event` integer NOT NULL,
	`reminder` integer NOT NULL,
	`due_at` integer NOT NULL,
	PRIMARY KEY(`account`, `webhook`, `member`, `permission`, `event`, `reminder`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `held_messages_due` ON `held_messages` (`due_at`);--> statement-breakpoint
CREATE TABLE `notification_settings` (
	`account` integer NOT NULL,
	`member` blob NOT NULL,
	`settings` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account`, `member`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `permission_events` (
	`account` integer NOT NULL,
	`permission` blob NOT NULL,
	`event` integer NOT NULL,
	`payload` text,
	`names` text,
	`is_pending` integer DEFAULT false NOT NULL,
	`reminders` integer DEFAULT 0 NOT NULL,
	`remind_at` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account`, `permission`, `event`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `permission_events_pending` ON `permission_events` (`account`) WHERE is_pending;--> statement-breakpoint
CREATE INDEX `permission_events_to_remind` ON `permission_events` (`remind_at`) WHERE remind_at is not null;--> statement-breakpoint
CREATE TABLE `slack_links` (
	`account` integer NOT NULL,
	`webhook` integer NOT NULL,
	`team` text NOT NULL,
	`slack_user` text NOT NULL,
	`member` blob NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account`, `webhook`, `team`, `slack_user`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `deliveries` ADD `permission` blob;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `reminder` integer;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `member` blob;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `slack_channel` text;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `receipt` text;--> statement-breakpoint
CREATE INDEX `deliveries_by_permission` ON `deliveries` (`permission`,`id`) WHERE permission is not null;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `kind` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `name` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `actions` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `config` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `inbound_hash` blob;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `is_disablement_untold` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `webhooks_by_inbound` ON `webhooks` (`inbound_hash`) WHERE inbound_hash is not null;
--> statement-breakpoint
CREATE TRIGGER `permission_events_moving_insert` BEFORE INSERT ON `permission_events` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'permission_events', json_array(hex(NEW.`permission`), NEW.`event`) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `permission_events_moving_update` BEFORE UPDATE ON `permission_events` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'permission_events', json_array(hex(OLD.`permission`), OLD.`event`) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `permission_events_moving_delete` BEFORE DELETE ON `permission_events` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'permission_events', json_array(hex(OLD.`permission`), OLD.`event`) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `notification_settings_moving_insert` BEFORE INSERT ON `notification_settings` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'notification_settings', json_array(hex(NEW.`member`)) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `notification_settings_moving_update` BEFORE UPDATE ON `notification_settings` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'notification_settings', json_array(hex(OLD.`member`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `notification_settings_moving_delete` BEFORE DELETE ON `notification_settings` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'notification_settings', json_array(hex(OLD.`member`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `held_messages_moving_insert` BEFORE INSERT ON `held_messages` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`) AND `moves`.`held_at` IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;
--> statement-breakpoint
CREATE TRIGGER `held_messages_moving_update` BEFORE UPDATE ON `held_messages` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`) AND `moves`.`held_at` IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;
--> statement-breakpoint
CREATE TRIGGER `held_messages_moving_delete` BEFORE DELETE ON `held_messages` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`) AND `moves`.`held_at` IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;
--> statement-breakpoint
CREATE TRIGGER `slack_links_moving_insert` BEFORE INSERT ON `slack_links` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`) AND `moves`.`held_at` IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;
--> statement-breakpoint
CREATE TRIGGER `slack_links_moving_update` BEFORE UPDATE ON `slack_links` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`) AND `moves`.`held_at` IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;
--> statement-breakpoint
CREATE TRIGGER `slack_links_moving_delete` BEFORE DELETE ON `slack_links` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`) AND `moves`.`held_at` IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'the account is moving'); END;
--> statement-breakpoint
CREATE TRIGGER `permissions_events_delete` AFTER DELETE ON `permissions` WHEN OLD.`account` NOT IN (SELECT `account` FROM `move_turns`) BEGIN DELETE FROM `permission_events` WHERE `account` = OLD.`account` AND `permission` = OLD.`id`; END;
--> statement-breakpoint
DELETE FROM `moves` WHERE `direction` = 0 AND NOT `has_left`;