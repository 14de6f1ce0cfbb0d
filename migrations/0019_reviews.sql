CREATE TABLE `reviews` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`policy_id` text NOT NULL,
	`rule` text NOT NULL,
	`owner` blob,
	`proposed_scope` text NOT NULL,
	`proposed_token_ttl` integer NOT NULL,
	`proposed_max_uses` integer NOT NULL,
	`escalates_at` integer,
	`escalated_at` integer,
	`escalation_due_at` integer,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `reviews_to_escalate` ON `reviews` (`escalation_due_at`) WHERE escalation_due_at is not null;--> statement-breakpoint
CREATE TABLE `votes` (
	`account` integer NOT NULL,
	`permission` blob NOT NULL,
	`ordinal` integer NOT NULL,
	`member` blob NOT NULL,
	`decision` integer NOT NULL,
	`scope` text NOT NULL,
	`token_ttl` integer NOT NULL,
	`max_uses` integer NOT NULL,
	`reason` text,
	`via` integer NOT NULL,
	`signature` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account`, `permission`, `ordinal`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `members` ADD `active_since` integer;--> statement-breakpoint
ALTER TABLE `policies` ADD `review` text;--> statement-breakpoint
CREATE INDEX `user_tokens_by_member` ON `user_tokens` (`account`,`member`);
--> statement-breakpoint
UPDATE `members` SET `active_since` = `updated_at` WHERE `status` = 1;
--> statement-breakpoint
CREATE TRIGGER `reviews_moving_insert` BEFORE INSERT ON `reviews` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'reviews', json_array(hex(NEW.`id`)) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `reviews_moving_update` BEFORE UPDATE ON `reviews` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'reviews', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `reviews_moving_delete` BEFORE DELETE ON `reviews` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'reviews', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `votes_moving_insert` BEFORE INSERT ON `votes` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'votes', json_array(hex(NEW.`permission`), NEW.`ordinal`) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `votes_moving_update` BEFORE UPDATE ON `votes` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'votes', json_array(hex(OLD.`permission`), OLD.`ordinal`) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `votes_moving_delete` BEFORE DELETE ON `votes` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'votes', json_array(hex(OLD.`permission`), OLD.`ordinal`) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `permissions_reviews_delete` AFTER DELETE ON `permissions` WHEN OLD.`account` NOT IN (SELECT `account` FROM `move_turns`) BEGIN DELETE FROM `reviews` WHERE `account` = OLD.`account` AND `id` = OLD.`id`; DELETE FROM `votes` WHERE `account` = OLD.`account` AND `permission` = OLD.`id`; END;
--> statement-breakpoint
CREATE TRIGGER `permissions_reviews_update` AFTER UPDATE OF `status` ON `permissions` WHEN OLD.`status` = 0 AND NEW.`status` <> 0 AND OLD.`account` NOT IN (SELECT `account` FROM `move_turns`) BEGIN UPDATE `reviews` SET `escalation_due_at` = NULL WHERE `account` = OLD.`account` AND `id` = OLD.`id` AND `escalation_due_at` IS NOT NULL; END;
--> statement-breakpoint
DELETE FROM `moves` WHERE `direction` = 0 AND NOT `has_left`;
