CREATE TABLE `pending_permissions` (
	`account` integer NOT NULL,
	`agent` integer NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`agent`, `account`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `user_tokens_by_expiry` ON `user_tokens` (`expires_at`) WHERE expires_at is not null;
--> statement-breakpoint
INSERT INTO `pending_permissions` (`account`, `agent`, `count`) SELECT `account`, `agent`, count(*) FROM `permissions` WHERE `status` = 0 GROUP BY `account`, `agent`;
--> statement-breakpoint
INSERT INTO `pending_permissions` (`account`, `agent`, `count`) SELECT `account`, 0, sum(`count`) FROM `pending_permissions` GROUP BY `account`;
--> statement-breakpoint
CREATE TRIGGER `permissions_pending_insert` AFTER INSERT ON `permissions` WHEN NEW.`status` = 0 BEGIN INSERT INTO `pending_permissions` (`account`, `agent`, `count`) VALUES (NEW.`account`, 0, 1), (NEW.`account`, NEW.`agent`, 1) ON CONFLICT (`agent`, `account`) DO UPDATE SET `count` = `count` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `permissions_pending_update` AFTER UPDATE OF `status` ON `permissions` WHEN OLD.`status` = 0 AND NEW.`status` <> 0 BEGIN UPDATE `pending_permissions` SET `count` = `count` - 1 WHERE `account` = NEW.`account` AND `agent` IN (0, NEW.`agent`); END;
--> statement-breakpoint
CREATE TRIGGER `permissions_pending_delete` AFTER DELETE ON `permissions` WHEN OLD.`status` = 0 BEGIN UPDATE `pending_permissions` SET `count` = `count` - 1 WHERE `account` = OLD.`account` AND `agent` IN (0, OLD.`agent`); DELETE FROM `pending_permissions` WHERE `account` = OLD.`account` AND `agent` IN (0, OLD.`agent`) AND `count` = 0; END;