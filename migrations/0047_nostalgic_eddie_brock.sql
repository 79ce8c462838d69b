CREATE TABLE `directory_entries` (
	`did` text PRIMARY KEY NOT NULL,
	`environment` text NOT NULL,
	`principal_id` text NOT NULL,
	`status` text NOT NULL,
	`listed_as` text NOT NULL,
	`economic_role` text NOT NULL,
	`cert_tier` text NOT NULL,
	`catalog_url` text,
	`capabilities` text NOT NULL,
	`markets` text NOT NULL,
	`agent_rating` real,
	`updated_at` integer NOT NULL,
	`unindexed` integer NOT NULL,
	`terms` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `directory_entries_listed` ON `directory_entries` (`environment`,`listed_as`,`updated_at`,`did`);--> statement-breakpoint
CREATE INDEX `directory_entries_unindexed` ON `directory_entries` (`environment`,`did`) WHERE unindexed = 1;--> statement-breakpoint
CREATE TABLE `directory_feeds` (
	`environment` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`head_seq` integer NOT NULL,
	`pruned_to` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_hashes` (
	`environment` text NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`environment`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_heads` (
	`environment` text NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`signed_at` integer NOT NULL,
	`jws` text NOT NULL,
	PRIMARY KEY(`environment`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_instants` (
	`environment` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`environment`, `occurred_at`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_term_counts` (
	`term` text PRIMARY KEY NOT NULL,
	`entries` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_terms` (
	`term` text NOT NULL,
	`did` text NOT NULL,
	PRIMARY KEY(`term`, `did`)
) WITHOUT ROWID;
--> statement-breakpoint
DROP INDEX `cascades_by_start`;--> statement-breakpoint
CREATE INDEX `cascades_by_start` ON `cascades` (started_at >= 0,`started_at`,`subject_id`);--> statement-breakpoint
ALTER TABLE `platforms` ADD `ratings_dated` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `republish_at` integer;--> statement-breakpoint
ALTER TABLE `agents` ADD `republish_by` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `agents_to_republish` ON `agents` (`republish_by`,`republish_at`,`did`) WHERE republish_at is not null;--> statement-breakpoint
ALTER TABLE `last_numbers` ADD `sandbox_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `last_numbers` ADD `production_at` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- The feed was read by nobody yet, and its instants were those of moved clocks: it begins anew, behind the last number.
INSERT OR IGNORE INTO directory_feeds (environment, seq, hash, head_seq, pruned_to)
SELECT e.value, last, printf('%064d', 0), last, last FROM (SELECT e.value, coalesce((SELECT max(c.seq) FROM directory_changes c
  WHERE c.environment = e.value), 0) AS last FROM json_each('["sandbox","production"]') e) e;
--> statement-breakpoint
DELETE FROM directory_changes WHERE seq <= (SELECT f.pruned_to FROM directory_feeds f WHERE f.environment = directory_changes.environment);
--> statement-breakpoint
INSERT OR IGNORE INTO directory_entries (did, environment, principal_id, status, listed_as, economic_role, cert_tier, catalog_url, capabilities,
  markets, agent_rating, updated_at, unindexed, terms)
SELECT a.did, a.environment, a.principal_id, a.status,
  CASE a.status WHEN 'ACTIVE' THEN 'active' WHEN 'REVOKED' THEN 'revoked' WHEN 'TERMINATED' THEN 'revoked' ELSE 'suspended' END,
  a.economic_role, a.cert_tier, a.catalog_url, a.capabilities,
  (SELECT json_group_array(market) FROM (SELECT DISTINCT m.market FROM agent_markets m WHERE m.did = a.did AND m.environment = a.environment
    AND m.status = 'ACTIVE' ORDER BY m.market)),
  a.agent_rating,
  CAST(unixepoch('subsec') * 1000 AS INTEGER) - row_number() OVER (PARTITION BY a.environment ORDER BY a.updated_at DESC, a.did DESC),
  1, '[]'
FROM agents a WHERE a.certificate_jti IS NOT NULL;
--> statement-breakpoint
-- Looked at once, and noted then for when decay will have moved them.
UPDATE agents SET republish_at = 0, republish_by = CASE WHEN environment = 'sandbox' AND EXISTS
  (SELECT 1 FROM platforms p WHERE p.platform_id = agents.platform_id AND p.clock_offset_ms > 0) THEN platform_id ELSE '' END
WHERE agent_rating IS NOT NULL AND republish_at IS NULL;
--> statement-breakpoint
UPDATE platforms SET ratings_dated = 1 WHERE clock_offset_ms > 0;
