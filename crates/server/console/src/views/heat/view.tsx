export function HeatView() { return <p>HeatView</p>; }
