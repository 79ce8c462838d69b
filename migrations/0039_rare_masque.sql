ALTER TABLE `escrows` ADD `windows_close_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE `escrows` SET `windows_close_at` = coalesce((SELECT max(t.`dispute_window_closes_at`) FROM `transactions` t WHERE t.`provider_did` = `escrows`.`did` AND t.`environment` = `escrows`.`environment` AND t.`network` = `escrows`.`network`), 0);
