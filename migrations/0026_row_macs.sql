ALTER TABLE `passkeys` ADD `mac` blob;--> statement-breakpoint
ALTER TABLE `permissions` ADD `mac` blob;--> statement-breakpoint
ALTER TABLE `votes` ADD `mac` blob;