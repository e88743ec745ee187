// Cells as walled rooms over time.
export const Rooms = () => <div class="pane-empty" />;
