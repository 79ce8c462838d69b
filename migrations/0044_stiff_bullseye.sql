ALTER TABLE `tasks` ADD `ruled_by` text;--> statement-breakpoint
UPDATE tasks SET ruled_by = (SELECT x.consumer_platform_id FROM transactions x
  WHERE x.transaction_id = tasks.transaction_id AND x.consumer_platform_id <> x.provider_platform_id)
WHERE environment = 'sandbox';
--> statement-breakpoint
UPDATE tasks SET answer = 'early'
WHERE environment = 'sandbox' AND status = 'auto_confirmed' AND answer IS NULL AND confirm_by > unixepoch() * 1000;
