export function DesignView() { return <p>DesignView</p>; }
