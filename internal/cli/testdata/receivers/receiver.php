<?php
require getenv('STANDARD_WEBHOOKS') . '/php/init.php';
$secret = getenv('SECRET');
function save($events)
{
    foreach ($events as $event) {
        file_put_contents(getenv('SAVED'), $event['id'] . "\n", FILE_APPEND);
    }
}
//BLOCK
