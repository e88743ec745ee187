// The idea in one picture: rooms with thick walls, and few doors.
export const RoomsFigure = () => (
  <svg
    class="rooms-figure"
    viewBox="0 0 560 234"
    role="img"
    aria-label="An agent and two helpers, each in a room of its own. A goal goes in, a result comes out."
  >
    <rect class="room" x="2" y="2" width="556" height="54" rx="3" />
    <rect class="room" x="94" y="95" width="346" height="54" rx="3" />
    <rect class="room" x="94" y="175" width="392" height="54" rx="3" />
    <path class="doors" d="M38 56h16M62 56h16M462 56h16M492 56h16M94 114v16M94 194v16M440 114v16M486 194v16" />
    <g class="graph-line hue-goal">
      <path d="M46 46v156h58M70 46v76h34" />
      <circle cx="46" cy="46" r="4" />
      <circle cx="70" cy="46" r="4" />
      <path class="line-head" d="M98 117l9 5-9 5zM98 197l9 5-9 5z" />
      <text x="106" y="84">
        a goal goes in
      </text>
    </g>
    <g class="graph-line hue-result">
      <path d="M428 122h42V50M474 202h26V50" />
      <circle cx="428" cy="122" r="4" />
      <circle cx="474" cy="202" r="4" />
      <path class="line-head" d="M465 52l5-9 5 9zM495 52l5-9 5 9z" />
      <text x="436" y="84" text-anchor="end">
        a result comes out
      </text>
    </g>
    <text x="22" y="34">
      Your agent
    </text>
    <text x="114" y="127">
      A helper
    </text>
    <text x="114" y="207">
      Another helper
    </text>
  </svg>
);
