DROP TABLE `event_terms`;--> statement-breakpoint
DROP INDEX `events_by_agent`;--> statement-breakpoint
DROP INDEX `events_by_other`;--> statement-breakpoint
ALTER TABLE `events` ADD `subject` text;--> statement-breakpoint
ALTER TABLE `events` ADD `listed` integer;--> statement-breakpoint
UPDATE `events` SET `listed` = 1 WHERE `seq` <= (SELECT `seq` FROM `outbox` WHERE `name` = 'listed');--> statement-breakpoint
UPDATE `events` SET `subject` = `object` ->> CASE substr(`type`, 1, instr(`type`, '.') - 1) WHEN 'api_key' THEN '$.key_id'
  WHEN 'dispute' THEN '$.dispute_id' WHEN 'intent' THEN '$.intent_id' WHEN 'platform' THEN '$.platform_id' WHEN 'principal' THEN '$.principal_id'
  WHEN 'task' THEN '$.task_id' WHEN 'transaction' THEN '$.transaction_id' WHEN 'webhook' THEN '$.webhook_id' END
WHERE substr(`type`, 1, instr(`type`, '.') - 1) NOT IN ('agent', 'market');--> statement-breakpoint
CREATE INDEX `events_by_tenant` ON `events` (`platform_id`,`environment`) WHERE listed = 1;--> statement-breakpoint
CREATE INDEX `events_by_id` ON `events` (`platform_id`,`environment`,`id`) WHERE listed = 1;--> statement-breakpoint
CREATE INDEX `events_by_subject` ON `events` (`subject`,`environment`) WHERE listed = 1 and subject is not null;--> statement-breakpoint
CREATE INDEX `events_by_agent` ON `events` (`agent_did`,`environment`) WHERE listed = 1 and agent_did is not null;--> statement-breakpoint
CREATE INDEX `events_by_other` ON `events` (`other_did`,`environment`) WHERE listed = 1 and other_did is not null;