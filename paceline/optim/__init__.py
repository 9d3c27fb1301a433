"""Update rules as pure functions of tensors, schedules as functions of the step."""
