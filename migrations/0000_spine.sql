CREATE TABLE `accounts` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` blob NOT NULL,
	`email` text NOT NULL,
	`name` text,
	`plan` integer NOT NULL,
	`audit_retention_days` integer,
	`is_active` integer NOT NULL,
	`erased_sequence` integer DEFAULT 0 NOT NULL,
	`erased_at` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_by_id` ON `accounts` (`id`);--> statement-breakpoint
CREATE INDEX `accounts_by_email` ON `accounts` (`email`);--> statement-breakpoint
CREATE TABLE `activity` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`actor` text,
	`action` integer NOT NULL,
	`target` text NOT NULL,
	`changes` text NOT NULL,
	`ip_address` text NOT NULL,
	`user_agent` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `activity_by_action` ON `activity` (`account`,`action`,`id`);--> statement-breakpoint
CREATE INDEX `activity_by_target` ON `activity` (`account`,`target`,`id`);--> statement-breakpoint
CREATE INDEX `activity_by_actor` ON `activity` (`account`,`actor`,`id`);--> statement-breakpoint
CREATE TABLE `agent_keys` (
	`hash` blob PRIMARY KEY NOT NULL,
	`agent` integer NOT NULL,
	`expires_at` integer,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `agent_keys_by_agent` ON `agent_keys` (`agent`);--> statement-breakpoint
CREATE INDEX `agent_keys_by_expiry` ON `agent_keys` (`expires_at`) WHERE expires_at is not null;--> statement-breakpoint
CREATE TABLE `agent_statistics` (
	`agent` integer NOT NULL,
	`unit` integer NOT NULL,
	`bucket` integer NOT NULL,
	`requests` integer NOT NULL,
	`approved` integer NOT NULL,
	`denied` integer NOT NULL,
	`expired` integer NOT NULL,
	`approval_time` integer NOT NULL,
	`tokens_issued` integer NOT NULL,
	`tokens_used` integer NOT NULL,
	`tokens_revoked` integer NOT NULL,
	PRIMARY KEY(`agent`, `unit`, `bucket`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `agent_statistics_by_age` ON `agent_statistics` (`unit`,`bucket`);--> statement-breakpoint
CREATE TABLE `agents` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`key_prefix` text NOT NULL,
	`metadata` text NOT NULL,
	`is_active` integer NOT NULL,
	`last_activity_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agents_by_account` ON `agents` (`account`,`id`);--> statement-breakpoint
CREATE INDEX `agents_by_activity` ON `agents` (`account`,`is_active`,`id`);--> statement-breakpoint
CREATE TABLE `audit_entries` (
	`pos` integer PRIMARY KEY NOT NULL,
	`id` blob NOT NULL,
	`agent` integer NOT NULL,
	`permission` blob NOT NULL,
	`event` integer NOT NULL,
	`action` text NOT NULL,
	`created_at` integer NOT NULL,
	`ip_address` text NOT NULL,
	`user_agent` text NOT NULL,
	`details` text NOT NULL,
	`salt` blob NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `audit_by_id` ON `audit_entries` (`id`);--> statement-breakpoint
CREATE INDEX `audit_by_event` ON `audit_entries` (`event`,`pos`);--> statement-breakpoint
CREATE INDEX `audit_by_agent` ON `audit_entries` (`agent`,`event`,`pos`);--> statement-breakpoint
CREATE INDEX `audit_by_action` ON `audit_entries` (`action`,`event`,`pos`);--> statement-breakpoint
CREATE INDEX `audit_by_agent_action` ON `audit_entries` (`agent`,`action`,`event`,`pos`);--> statement-breakpoint
CREATE INDEX `audit_by_permission` ON `audit_entries` (`permission`,`event`,`pos`);--> statement-breakpoint
CREATE TABLE `erasures` (
	`id` integer PRIMARY KEY NOT NULL,
	`kind` integer NOT NULL,
	`number` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `permissions` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`agent` integer NOT NULL,
	`action` text NOT NULL,
	`resource` text NOT NULL,
	`scope` text NOT NULL,
	`reason` text,
	`token_ttl` integer NOT NULL,
	`max_uses` integer NOT NULL,
	`status` integer NOT NULL,
	`granted_scope` text,
	`decided_by` text,
	`decided_at` integer,
	`decision_reason` text,
	`policy_id` text,
	`token_status` integer,
	`token_max_uses` integer,
	`token_uses` integer,
	`token_issued_at` integer,
	`token_expires_at` integer,
	`token_key_id` text,
	`last_entry` blob NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account`, `id`),
	CONSTRAINT "token_uses_left" CHECK(token_uses <= token_max_uses)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `permissions_by_status` ON `permissions` (`account`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `permissions_by_agent` ON `permissions` (`agent`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `permissions_by_action` ON `permissions` (`account`,`action`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `permissions_by_agent_action` ON `permissions` (`agent`,`action`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `permissions_due` ON `permissions` (`expires_at`) WHERE status = 0;--> statement-breakpoint
CREATE INDEX `permissions_overdue` ON `permissions` (`agent`,`expires_at`,`created_at`) WHERE status = 0;--> statement-breakpoint
CREATE INDEX `tokens_due` ON `permissions` (`token_expires_at`) WHERE token_status = 0 and token_uses = 0;--> statement-breakpoint
CREATE TABLE `policies` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`name` text NOT NULL,
	`effect` integer NOT NULL,
	`actions` text NOT NULL,
	`resources` text NOT NULL,
	`agent_ids` text,
	`conditions` text NOT NULL,
	`token_ttl` integer,
	`max_uses` integer,
	`reason` text,
	`priority` integer NOT NULL,
	`is_active` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `user_tokens` (
	`hash` blob PRIMARY KEY NOT NULL,
	`id` blob NOT NULL,
	`account` integer NOT NULL,
	`name` text,
	`prefix` text NOT NULL,
	`scopes` text NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `user_tokens_by_account` ON `user_tokens` (`account`,`id`);