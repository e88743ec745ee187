// All questions that wait for a person.
export const Questions = () => <div class="pane-empty" />;
