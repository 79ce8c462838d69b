ALTER TABLE `followers` ADD `bound` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
UPDATE `followers` SET `bound` = (SELECT json_group_array(i.`intent_id`) FROM `payment_intents` i WHERE i.`status` = 'PAID' AND i.`spent_at` IS NULL AND i.`network` = `followers`.`network` AND i.`payment_block` > `followers`.`booked_block`);
