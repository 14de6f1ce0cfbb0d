DROP TABLE `guards`;
--> statement-breakpoint
CREATE TABLE `guards` (
	`name` text PRIMARY KEY NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER `guards_abort` BEFORE INSERT ON `guards` BEGIN
	SELECT RAISE(ABORT, 'guard: ' || new.name);
END;
