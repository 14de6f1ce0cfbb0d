CREATE TABLE `members` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`email` text,
	`name` text,
	`role` integer NOT NULL,
	`status` integer NOT NULL,
	`identity` blob,
	`invitation_hash` blob,
	`invitation_expires_at` integer,
	`last_seen_at` integer,
	`erase_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `members_by_email` ON `members` (email collate nocase,`account`) WHERE status <> 3;--> statement-breakpoint
CREATE UNIQUE INDEX `members_by_identity` ON `members` (`identity`,`account`) WHERE status <> 3;--> statement-breakpoint
CREATE UNIQUE INDEX `members_by_invitation` ON `members` (`invitation_hash`) WHERE invitation_hash is not null;--> statement-breakpoint
CREATE INDEX `members_by_status` ON `members` (`account`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `members_to_erase` ON `members` (`erase_at`) WHERE erase_at is not null;--> statement-breakpoint
ALTER TABLE `agents` ADD `owner` blob;--> statement-breakpoint
ALTER TABLE `user_tokens` ADD `member` blob;
--> statement-breakpoint
CREATE TRIGGER `members_moving_insert` BEFORE INSERT ON `members` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = NEW.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = NEW.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'members', json_array(hex(NEW.`id`)) FROM `moves` WHERE `moves`.`account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `members_moving_update` BEFORE UPDATE ON `members` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'members', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `members_moving_delete` BEFORE DELETE ON `members` WHEN EXISTS (SELECT 1 FROM `moves` WHERE `moves`.`account` = OLD.`account` AND NOT `moves`.`has_left` AND `moves`.`account` NOT IN (SELECT `account` FROM `move_turns`)) BEGIN SELECT RAISE(ABORT, 'the account is moving') FROM `moves` WHERE `moves`.`account` = OLD.`account` AND `moves`.`held_at` IS NOT NULL; INSERT INTO `move_changes` (`account`, `name`, `key`) SELECT `moves`.`account`, 'members', json_array(hex(OLD.`id`)) FROM `moves` WHERE `moves`.`account` = OLD.`account`; END;
--> statement-breakpoint
DELETE FROM `moves` WHERE `direction` = 0 AND NOT `has_left`;--> statement-breakpoint
INSERT INTO `move_turns` (`account`, `turn`) SELECT `account`, 0 FROM `moves`;--> statement-breakpoint
UPDATE `user_tokens` SET `scopes` = json_insert(`scopes`, '$[#]', 'channels:read', '$[#]', 'channels:write') WHERE json_array_length(`scopes`) = 13;--> statement-breakpoint
DELETE FROM `move_turns`;
