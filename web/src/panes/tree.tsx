// Cells as a tree.
export const Tree = () => <div class="pane-empty" />;
