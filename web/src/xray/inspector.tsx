// What is selected: a request, a crossing, a room.
export const Inspector = () => <div class="pane-empty" />;
