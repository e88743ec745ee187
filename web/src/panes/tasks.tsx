// The task graph of a team.
export const Tasks = () => <div class="pane-empty" />;
