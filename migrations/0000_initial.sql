-- drizzle-kit can express neither WITHOUT ROWID nor triggers: they are added by hand.
CREATE TABLE `accounts` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` blob NOT NULL,
	`email` text NOT NULL,
	`name` text,
	`plan` integer NOT NULL,
	`audit_retention_days` integer,
	`is_active` integer NOT NULL,
	`stopped_at` integer,
	`stopped_by` blob,
	`stop_reason` text,
	`is_witnessed` integer DEFAULT false NOT NULL,
	`erased_sequence` integer DEFAULT 0 NOT NULL,
	`erased_at` integer DEFAULT 0 NOT NULL,
	`retention_due_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_by_id` ON `accounts` (`id`);--> statement-breakpoint
CREATE INDEX `accounts_by_email` ON `accounts` (`email`);--> statement-breakpoint
CREATE INDEX `accounts_retention_due` ON `accounts` (`retention_due_at`) WHERE retention_due_at is not null;--> statement-breakpoint
CREATE INDEX `accounts_witnessed` ON `accounts` (`number`) WHERE is_witnessed;--> statement-breakpoint
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
	`updated_at` integer NOT NULL,
	`owner` blob
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agents_by_account` ON `agents` (`account`,`id`);--> statement-breakpoint
CREATE INDEX `agents_by_activity` ON `agents` (`account`,`is_active`,`id`);--> statement-breakpoint
CREATE TABLE `audit_entries` (
	`pos` integer PRIMARY KEY NOT NULL,
	`agent` integer NOT NULL,
	`permission` blob NOT NULL,
	`previous` integer,
	`event` integer NOT NULL,
	`action` text NOT NULL,
	`created_at` integer NOT NULL,
	`ip_address` text NOT NULL,
	`user_agent` text NOT NULL,
	`details` text NOT NULL,
	`random` blob NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_by_event` ON `audit_entries` (`event`);--> statement-breakpoint
CREATE INDEX `audit_by_agent` ON `audit_entries` (`agent`,`event`);--> statement-breakpoint
CREATE INDEX `audit_by_action` ON `audit_entries` (`action`,`event`);--> statement-breakpoint
CREATE INDEX `audit_by_agent_action` ON `audit_entries` (`agent`,`action`,`event`);--> statement-breakpoint
CREATE TABLE `connection_calls` (
	`account` integer NOT NULL,
	`connection` blob NOT NULL,
	`agent` integer NOT NULL,
	`name` blob NOT NULL,
	`permission` blob NOT NULL,
	`input_digest` text NOT NULL,
	PRIMARY KEY(`account`, `connection`, `agent`, `name`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `connection_calls_by_input` ON `connection_calls` (`account`,`connection`,`agent`,`input_digest`,`permission`);--> statement-breakpoint
CREATE TABLE `connection_reads` (
	`account` integer NOT NULL,
	`connection` blob NOT NULL,
	`agent` integer NOT NULL,
	`day` integer NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`account`, `connection`, `agent`, `day`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `connection_reads_by_age` ON `connection_reads` (`day`);--> statement-breakpoint
CREATE TABLE `connections` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`base_url` text NOT NULL,
	`auth_type` integer NOT NULL,
	`auth_header` text,
	`auth_prefix` text,
	`secret` blob,
	`rules` text NOT NULL,
	`agent_ids` text NOT NULL,
	`forward_headers` text NOT NULL,
	`wait` integer NOT NULL,
	`timeout` integer NOT NULL,
	`repeat_after` integer NOT NULL,
	`is_active` integer NOT NULL,
	`created_by` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `connections_by_slug` ON `connections` (`account`,`slug`);--> statement-breakpoint
CREATE TABLE `deliveries` (
	`receiver` integer NOT NULL,
	`id` blob NOT NULL,
	`original` blob,
	`disable_count` integer NOT NULL,
	`event` integer NOT NULL,
	`pos` integer,
	`agent` integer,
	`payload` text,
	`status` integer NOT NULL,
	`attempts` integer NOT NULL,
	`due_at` integer,
	`last_status_code` integer,
	`last_error` text,
	`duration` integer,
	`failures` text,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	`permission` blob,
	`reminder` integer,
	`member` blob,
	`slack_channel` text,
	`slack_message` text,
	`digest_group` integer,
	`postponements` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`receiver`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `deliveries_first_attempts` ON `deliveries` (`receiver`,`disable_count`,`id`) WHERE status = 0 and attempts + postponements = 0;--> statement-breakpoint
CREATE INDEX `deliveries_retries` ON `deliveries` (`receiver`,`disable_count`,`id`) WHERE status = 0 and attempts + postponements > 0;--> statement-breakpoint
CREATE INDEX `deliveries_retries_due` ON `deliveries` (`receiver`,`disable_count`,`due_at`) WHERE due_at is not null and attempts + postponements > 0;--> statement-breakpoint
CREATE INDEX `deliveries_failed` ON `deliveries` (`receiver`,`id`) WHERE status = 2;--> statement-breakpoint
CREATE INDEX `deliveries_by_agent` ON `deliveries` (`agent`) WHERE agent is not null;--> statement-breakpoint
CREATE INDEX `deliveries_by_permission` ON `deliveries` (`permission`,`id`) WHERE permission is not null;--> statement-breakpoint
CREATE TABLE `erased_entries` (
	`id` integer PRIMARY KEY NOT NULL,
	`account` integer NOT NULL,
	`reason` integer NOT NULL,
	`ranges` text NOT NULL,
	`erased_at` integer NOT NULL,
	`note` text DEFAULT '' NOT NULL
);
--> statement-breakpoint
CREATE INDEX `erased_entries_by_account` ON `erased_entries` (`account`);--> statement-breakpoint
CREATE TABLE `erasures` (
	`id` integer PRIMARY KEY NOT NULL,
	`kind` integer NOT NULL,
	`account` integer NOT NULL,
	`number` integer NOT NULL,
	`subject` blob DEFAULT x'' NOT NULL,
	`due_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `event_feeds` (
	`account` integer PRIMARY KEY NOT NULL,
	`position` integer NOT NULL,
	`due_at` integer,
	`account_events` text
);
--> statement-breakpoint
CREATE INDEX `event_feeds_due` ON `event_feeds` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE TABLE `file_results` (
	`account` integer NOT NULL,
	`kind` integer NOT NULL,
	`id` blob NOT NULL,
	`is_failure` integer NOT NULL,
	`created_at` integer NOT NULL,
	`ordinal` integer DEFAULT 1 NOT NULL,
	PRIMARY KEY(`account`, `kind`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `files` (
	`account` integer NOT NULL,
	`kind` integer NOT NULL,
	`id` blob NOT NULL,
	`format` integer NOT NULL,
	`request` text NOT NULL,
	`agent` integer,
	`snapshot` integer NOT NULL,
	`kept_from` integer NOT NULL,
	`status` integer NOT NULL,
	`error` text,
	`row_count` integer,
	`size` integer,
	`sha256` blob,
	`proof_size` integer,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	`expires_at` integer,
	`downloaded_at` integer,
	`lease` blob,
	`attempts` integer DEFAULT 0 NOT NULL,
	`state` text,
	`upload_id` text,
	`due_at` integer,
	PRIMARY KEY(`account`, `kind`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `files_by_status` ON `files` (`account`,`status`);--> statement-breakpoint
CREATE INDEX `files_due` ON `files` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE TABLE `guards` (
	`name` text PRIMARY KEY NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `held_messages` (
	`account` integer NOT NULL,
	`receiver` integer NOT NULL,
	`member` blob NOT NULL,
	`permission` blob NOT NULL,
	`event` integer NOT NULL,
	`reminder` integer NOT NULL,
	`due_at` integer NOT NULL,
	PRIMARY KEY(`account`, `receiver`, `member`, `permission`, `event`, `reminder`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `held_messages_due` ON `held_messages` (`due_at`);--> statement-breakpoint
CREATE TABLE `identities` (
	`key` blob PRIMARY KEY NOT NULL,
	`account` blob NOT NULL,
	`shard` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `identities_by_account` ON `identities` (`account`);--> statement-breakpoint
CREATE TABLE `members` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`email` text,
	`email_proven_at` integer,
	`name` text,
	`role` integer NOT NULL,
	`status` integer NOT NULL,
	`identity` blob,
	`invitation_hash` blob,
	`invitation_expires_at` integer,
	`invited_by` blob,
	`last_seen_at` integer,
	`active_since` integer,
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
CREATE INDEX `members_by_role` ON `members` (`account`,`role`,`active_since`) WHERE status = 1;--> statement-breakpoint
CREATE INDEX `members_to_erase` ON `members` (`erase_at`) WHERE erase_at is not null;--> statement-breakpoint
CREATE TABLE `move_numbers` (
	`account` integer NOT NULL,
	`kind` integer NOT NULL,
	`number` integer NOT NULL,
	`becomes` integer NOT NULL,
	PRIMARY KEY(`account`, `kind`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `moved_accounts` (
	`id` blob PRIMARY KEY NOT NULL,
	`shard` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `moved_credentials` (
	`hash` blob PRIMARY KEY NOT NULL,
	`account` blob NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `moved_credentials_by_account` ON `moved_credentials` (`account`);--> statement-breakpoint
CREATE TABLE `moves` (
	`account` integer PRIMARY KEY NOT NULL,
	`id` blob NOT NULL,
	`direction` integer NOT NULL,
	`shard` text NOT NULL,
	`turns` integer DEFAULT 0 NOT NULL,
	`step` integer DEFAULT 0 NOT NULL,
	`after` text,
	`log_position` integer DEFAULT 0 NOT NULL,
	`reserved_at` integer DEFAULT 0 NOT NULL,
	`open_since` integer DEFAULT 0 NOT NULL,
	`held_at` integer,
	`has_left` integer DEFAULT false NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `moves_by_id` ON `moves` (`id`);--> statement-breakpoint
CREATE TABLE `notification_settings` (
	`account` integer NOT NULL,
	`member` blob NOT NULL,
	`settings` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account`, `member`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `passkeys` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`member` blob NOT NULL,
	`name` text NOT NULL,
	`public_key` blob NOT NULL,
	`counter` integer NOT NULL,
	`first_counter` integer,
	`added_at` integer NOT NULL,
	`removed_at` integer,
	`mac` blob,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `passkeys_by_member` ON `passkeys` (`account`,`member`);--> statement-breakpoint
CREATE TABLE `pending_permissions` (
	`account` integer PRIMARY KEY NOT NULL,
	`count` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `permission_contents` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`input` text,
	`preview` text,
	PRIMARY KEY(`account`, `id`)
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
	`last_entry` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`title` text,
	`input_digest` text,
	`preview_digest` text,
	`external_id` text,
	`erase_at` integer,
	`mac` blob,
	`series` text,
	`granted_series` text,
	`request_entry` integer,
	`outcome_state` integer,
	`used_by` text,
	`outcome_due_at` integer,
	`outcome_reported_at` integer,
	`connection_id` blob,
	`outcome_summary` text,
	PRIMARY KEY(`account`, `id`),
	CONSTRAINT "token_uses_left" CHECK(token_uses <= token_max_uses)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `permissions_by_external_id` ON `permissions` (`external_id`,`account`,`agent`) WHERE external_id is not null;--> statement-breakpoint
CREATE INDEX `permissions_by_decider` ON `permissions` (`account`,`decided_by`,`decided_at`) WHERE decided_by glob 'member_*';--> statement-breakpoint
CREATE INDEX `permissions_pending` ON `permissions` (`account`,`last_entry`,`agent`,`action`,`expires_at`,`created_at`) WHERE status = 0;--> statement-breakpoint
CREATE INDEX `permissions_pending_by_agent` ON `permissions` (`agent`,`last_entry`,`action`,`expires_at`,`created_at`) WHERE status = 0;--> statement-breakpoint
CREATE INDEX `permissions_due` ON `permissions` (`expires_at`) WHERE status = 0;--> statement-breakpoint
CREATE INDEX `permissions_waiting` ON `permissions` (`account`,`expires_at`,`id`,`agent`,`created_at`) WHERE status = 0;--> statement-breakpoint
CREATE INDEX `permissions_to_erase` ON `permissions` (`erase_at`) WHERE erase_at is not null;--> statement-breakpoint
CREATE INDEX `permissions_to_erase_by_agent` ON `permissions` (`agent`,`erase_at`) WHERE erase_at is not null;--> statement-breakpoint
CREATE INDEX `tokens_due` ON `permissions` (`token_expires_at`) WHERE token_status = 0 and token_uses = 0;--> statement-breakpoint
CREATE INDEX `outcomes_awaited` ON `permissions` ((outcome_due_at / 60000),`account`,`outcome_due_at`) WHERE outcome_state = 1;--> statement-breakpoint
CREATE INDEX `permissions_by_outcome` ON `permissions` (`account`,`outcome_state`,`request_entry`,`agent`,`action`,`created_at`) WHERE outcome_state in (2, 4);--> statement-breakpoint
CREATE INDEX `permissions_by_decision_and_outcome` ON `permissions` (`account`,`outcome_state`,`decided_at`,`id`,`agent`,`action`,`created_at`) WHERE outcome_state in (2, 4);--> statement-breakpoint
CREATE INDEX `permissions_by_connection` ON `permissions` (`account`,`connection_id`,`id`) WHERE connection_id is not null;--> statement-breakpoint
CREATE INDEX `permissions_waiting_by_connection` ON `permissions` (`account`,`connection_id`) WHERE status = 0 and connection_id is not null;--> statement-breakpoint
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
	`review` text,
	`created_by` text,
	`budget` text,
	`expires_at` integer,
	`usage_window_start` integer NOT NULL,
	`usage_requests` integer NOT NULL,
	`usage_sum_millionths` integer NOT NULL,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `provider_keys` (
	`issuer` text PRIMARY KEY NOT NULL,
	`keys` text,
	`fetched_at` integer NOT NULL,
	`claimed_at` integer NOT NULL,
	`is_claimed` integer DEFAULT false NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `receivers` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`kind` integer DEFAULT 0 NOT NULL,
	`name` text,
	`url` text NOT NULL,
	`description` text,
	`events` text NOT NULL,
	`agent_ids` text,
	`actions` text,
	`config` text,
	`is_active` integer NOT NULL,
	`disabled_reason` text,
	`secret` blob NOT NULL,
	`inbound_hash` blob,
	`old_secret` blob,
	`old_secret_expires_at` integer,
	`starts_after` integer NOT NULL,
	`starts_after_file_result` integer DEFAULT 0 NOT NULL,
	`disable_count` integer DEFAULT 0 NOT NULL,
	`has_canceled` integer DEFAULT false NOT NULL,
	`is_notice_due` integer DEFAULT false NOT NULL,
	`is_slow` integer DEFAULT false NOT NULL,
	`failing_since` integer,
	`lease` blob,
	`due_at` integer,
	`erase_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`created_by` text,
	`member` blob
);
--> statement-breakpoint
CREATE UNIQUE INDEX `receivers_by_account` ON `receivers` (`account`,`id`);--> statement-breakpoint
CREATE INDEX `receivers_by_member` ON `receivers` (`account`,`member`) WHERE member is not null;--> statement-breakpoint
CREATE INDEX `receivers_by_inbound` ON `receivers` (`inbound_hash`) WHERE inbound_hash is not null;--> statement-breakpoint
CREATE INDEX `receivers_due` ON `receivers` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `receivers_to_erase` ON `receivers` (`erase_at`) WHERE erase_at is not null;--> statement-breakpoint
CREATE TABLE `reviews` (
	`account` integer NOT NULL,
	`id` blob NOT NULL,
	`policy_id` text NOT NULL,
	`policy_updated_at` integer NOT NULL,
	`rule` text NOT NULL,
	`owner` blob,
	`proposed_scope` text NOT NULL,
	`proposed_token_ttl` integer NOT NULL,
	`proposed_max_uses` integer NOT NULL,
	`proposed_series` text,
	`escalates_at` integer,
	`escalated_at` integer,
	`escalation_due_at` integer,
	PRIMARY KEY(`account`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `reviews_to_escalate` ON `reviews` (`escalation_due_at`) WHERE escalation_due_at is not null;--> statement-breakpoint
CREATE TABLE `send_counts` (
	`key` blob PRIMARY KEY NOT NULL,
	`since` integer NOT NULL,
	`count` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `send_counts_by_age` ON `send_counts` (`since`);--> statement-breakpoint
CREATE TABLE `series` (
	`account` integer NOT NULL,
	`agent` integer NOT NULL,
	`live_until` integer NOT NULL,
	`permission` blob NOT NULL,
	`action` text NOT NULL,
	`resource` text NOT NULL,
	`scope` text NOT NULL,
	`varies` text NOT NULL,
	`token_ttl` integer NOT NULL,
	`requests` integer NOT NULL,
	`used` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer,
	`policy_id` text,
	`policy_updated_at` integer,
	`connection_id` blob,
	`given_by` text NOT NULL,
	`mac` blob NOT NULL,
	PRIMARY KEY(`account`, `agent`, `live_until`, `permission`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `series_checks` (
	`account` integer PRIMARY KEY NOT NULL,
	`since` integer NOT NULL,
	`changes` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `sessions` (
	`hash` blob PRIMARY KEY NOT NULL,
	`id` blob NOT NULL,
	`account` integer NOT NULL,
	`member` blob,
	`token` blob,
	`ip_address` text NOT NULL,
	`user_agent` text NOT NULL,
	`last_seen_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`authenticated_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_by_account` ON `sessions` (`account`,`id`);--> statement-breakpoint
CREATE INDEX `sessions_by_member` ON `sessions` (`account`,`member`);--> statement-breakpoint
CREATE INDEX `sessions_by_token` ON `sessions` (`account`,`token`) WHERE token is not null;--> statement-breakpoint
CREATE INDEX `sessions_by_age` ON `sessions` (`created_at`);--> statement-breakpoint
CREATE TABLE `sign_in_challenges` (
	`challenge` blob PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sign_in_challenges_by_expiry` ON `sign_in_challenges` (`expires_at`);--> statement-breakpoint
CREATE TABLE `slack_links` (
	`account` integer NOT NULL,
	`receiver` integer NOT NULL,
	`team` text NOT NULL,
	`slack_user` text NOT NULL,
	`member` blob NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account`, `receiver`, `team`, `slack_user`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `stored_answers` (
	`principal` blob NOT NULL,
	`key` blob NOT NULL,
	`request` blob NOT NULL,
	`answer` blob NOT NULL,
	`computed` text,
	`subject` blob NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`principal`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `stored_answers_by_subject` ON `stored_answers` (`subject`);--> statement-breakpoint
CREATE INDEX `stored_answers_by_age` ON `stored_answers` (`created_at`);--> statement-breakpoint
CREATE TABLE `trees` (
	`account` integer PRIMARY KEY NOT NULL,
	`size` integer DEFAULT 0 NOT NULL,
	`root` blob,
	`sealed_at` integer,
	`frontier` blob DEFAULT x'' NOT NULL,
	`note` text,
	`published_size` integer DEFAULT 0 NOT NULL,
	`published_at` integer DEFAULT 0 NOT NULL,
	`witnessed_size` integer DEFAULT 0 NOT NULL,
	`cosigned_size` integer DEFAULT 0 NOT NULL,
	`witness_due_at` integer DEFAULT 0 NOT NULL,
	`due_at` integer,
	`held_until` integer DEFAULT 0 NOT NULL,
	`counted` integer DEFAULT 0 NOT NULL,
	`count_due_at` integer
);
--> statement-breakpoint
CREATE INDEX `trees_due` ON `trees` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `trees_to_count` ON `trees` (`count_due_at`) WHERE count_due_at is not null;--> statement-breakpoint
CREATE TABLE `used_challenges` (
	`account` integer NOT NULL,
	`challenge` blob NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`account`, `challenge`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `used_challenges_by_expiry` ON `used_challenges` (`expires_at`);--> statement-breakpoint
CREATE TABLE `user_tokens` (
	`hash` blob PRIMARY KEY NOT NULL,
	`id` blob NOT NULL,
	`account` integer NOT NULL,
	`member` blob,
	`name` text,
	`prefix` text NOT NULL,
	`scopes` text NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`created_at` integer NOT NULL,
	`created_by` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `user_tokens_by_account` ON `user_tokens` (`account`,`id`);--> statement-breakpoint
CREATE INDEX `user_tokens_by_member` ON `user_tokens` (`account`,`member`);--> statement-breakpoint
CREATE INDEX `user_tokens_by_expiry` ON `user_tokens` (`expires_at`) WHERE expires_at is not null;--> statement-breakpoint
CREATE TABLE `votes` (
	`account` integer NOT NULL,
	`permission` blob NOT NULL,
	`ordinal` integer NOT NULL,
	`member` blob NOT NULL,
	`decision` integer NOT NULL,
	`scope` text NOT NULL,
	`token_ttl` integer NOT NULL,
	`max_uses` integer NOT NULL,
	`series` text,
	`reason` text,
	`via` integer NOT NULL,
	`signature` text,
	`created_at` integer NOT NULL,
	`mac` blob,
	PRIMARY KEY(`account`, `permission`, `ordinal`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `votes_by_member` ON `votes` (`account`,`member`,`created_at`,`permission`);
--> statement-breakpoint
-- A guard that does not hold aborts its batch, with its name as the error.
CREATE TRIGGER `guards_abort` BEFORE INSERT ON `guards` BEGIN SELECT RAISE(ABORT, 'guard: ' || NEW.`name`); END;
--> statement-breakpoint
-- Count the pending permissions of each account.
CREATE TRIGGER `permissions_pending_insert` AFTER INSERT ON `permissions`
WHEN NEW.`status` = 0
BEGIN
	INSERT INTO `pending_permissions` (`account`, `count`)
		VALUES (NEW.`account`, 1)
		ON CONFLICT (`account`) DO UPDATE
		SET `count` = `count` + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `permissions_pending_update` AFTER UPDATE OF `status` ON `permissions`
WHEN OLD.`status` = 0
	AND NEW.`status` <> 0
BEGIN
	UPDATE `pending_permissions`
		SET `count` = `count` - 1
		WHERE `account` = NEW.`account`;
END;
--> statement-breakpoint
CREATE TRIGGER `permissions_pending_delete` AFTER DELETE ON `permissions`
WHEN OLD.`status` = 0
BEGIN
	UPDATE `pending_permissions`
		SET `count` = `count` - 1
		WHERE `account` = OLD.`account`;
	DELETE FROM `pending_permissions`
		WHERE `account` = OLD.`account` AND `count` = 0;
END;
--> statement-breakpoint
-- Delete the contents, the review, the votes, the events, the series and the calls of a permission
-- together with it.
CREATE TRIGGER `permissions_rows_delete` AFTER DELETE ON `permissions`
BEGIN
	DELETE FROM `permission_contents`
		WHERE `account` = OLD.`account` AND `id` = OLD.`id`;
	DELETE FROM `reviews`
		WHERE `account` = OLD.`account` AND `id` = OLD.`id`;
	DELETE FROM `votes`
		WHERE `account` = OLD.`account` AND `permission` = OLD.`id`;
	DELETE FROM `permission_events`
		WHERE `account` = OLD.`account` AND `permission` = OLD.`id`;
	DELETE FROM `series`
		WHERE OLD.`granted_series` IS NOT NULL AND `account` = OLD.`account` AND `agent` = OLD.`agent`
			AND `live_until` IN (0, OLD.`decided_at` + 1000 * (OLD.`granted_series` ->> 'expires_in'))
			AND `permission` = OLD.`id`;
	DELETE FROM `connection_calls`
		WHERE OLD.`connection_id` IS NOT NULL AND `account` = OLD.`account`
			AND `connection` = OLD.`connection_id` AND `agent` = OLD.`agent`
			AND `input_digest` = OLD.`input_digest` AND `permission` = OLD.`id`;
END;
--> statement-breakpoint
-- A permission that is no longer pending is not escalated.
CREATE TRIGGER `permissions_reviews_update` AFTER UPDATE OF `status` ON `permissions`
WHEN OLD.`status` = 0
	AND NEW.`status` <> 0
BEGIN
	UPDATE `reviews`
		SET `escalation_due_at` = NULL
		WHERE `account` = OLD.`account` AND `id` = OLD.`id` AND `escalation_due_at` IS NOT NULL;
END;
