CREATE TABLE `pending_permissions` (
	`account` integer PRIMARY KEY NOT NULL,
	`count` integer NOT NULL
);

--> statement-breakpoint
INSERT INTO `pending_permissions` (`account`, `count`) SELECT `account`, count(*) FROM `permissions` WHERE `status` = 0 GROUP BY `account`;
--> statement-breakpoint
CREATE TRIGGER `permissions_pending_insert` AFTER INSERT ON `permissions` WHEN NEW.`status` = 0 BEGIN INSERT INTO `pending_permissions` (`account`, `count`) VALUES (NEW.`account`, 1) ON CONFLICT (`account`) DO UPDATE SET `count` = `count` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `permissions_pending_update` AFTER UPDATE OF `status` ON `permissions` WHEN OLD.`status` = 0 AND NEW.`status` <> 0 BEGIN UPDATE `pending_permissions` SET `count` = `count` - 1 WHERE `account` = NEW.`account`; END;
--> statement-breakpoint
CREATE TRIGGER `permissions_pending_delete` AFTER DELETE ON `permissions` WHEN OLD.`status` = 0 BEGIN UPDATE `pending_permissions` SET `count` = `count` - 1 WHERE `account` = OLD.`account`; END;
