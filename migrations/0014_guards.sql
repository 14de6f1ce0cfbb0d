CREATE TABLE `guards` (
	`holds` integer NOT NULL
);
