// What fills each window.
export const Windows = () => <div class="pane-empty" />;
