ALTER TABLE `agent_markets` ADD `sole` integer DEFAULT false NOT NULL;--> statement-breakpoint
UPDATE `agent_markets` SET `sole` = true WHERE (`did`, `environment`) IN (SELECT `did`, `environment` FROM `agent_markets` GROUP BY `did`, `environment` HAVING count(*) = 1);
