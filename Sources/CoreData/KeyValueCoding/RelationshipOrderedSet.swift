import Foundation
import StrataCore

/// An ordered relationship as a mutable ordered set: what `mutableOrderedSetValue(forKey:)` hands out. Belongs to the context's
/// queue.
///
/// Foundation's ordered set reads its own storage in methods that cannot be overridden (`filter(using:)`, `firstObject`, `for … in`). So the
/// members are in that storage too: brought up to date when the set is made, by every edit through it, by every method that can be
/// overridden, by edits of the members anywhere else in the context, and by the context's notifications.
final class RelationshipOrderedSet: NSMutableOrderedSet, MembersFollower {
  private let view: OrderedRelatedObjects<NSManagedObject>
  private let owner: NSManagedObject
  private let key: String
  private let slot: Int
  /// The state of the members that the storage shows; nil when that is not known.
  private var shown: UInt64?
  /// The storage is being brought up to date, or Foundation works on it.
  private var isInside = false
  /// The relationship is being edited through this set, which reads the members afterwards.
  private var isEditing = false

  init(_ owner: NSManagedObject, _ key: String) {
    slot = owner.toManySlot(key, isOrdered: true)
    view = owner.orderedRelated(slot: slot)
    self.owner = owner
    self.key = key
    super.init(capacity: 0)
    readMembers()
    owner.addFollower(self)
  }

  required convenience init(arrayLiteral elements: Any...) { Self.refuse() }
  required init?(coder aDecoder: NSCoder) { Self.refuse() }
  private static func refuse() -> Never {
    stop("A relationship's ordered set is made by mutableOrderedSetValue(forKey:) only.")
  }

  /// The members. Whoever asks for them fires the owner, which may have become a fault since this set was made.
  private var members: OrderedRelatedObjects<NSManagedObject> {
    owner.fireForMembers()
    return view
  }

  private func readMembers() {
    if isInside { return }
    owner.fireForMembers()
    showMembers()
  }

  /// The same without firing the owner.
  private func showMembers() {
    if isInside { return }
    let now = owner.membersMoment(slot: slot, reads: true)
    if follow(now) { return }
    show(Array(view))
    // What came in while they were read is not known to be shown.
    let after = owner.membersMoment(slot: slot, reads: false)
    shown = now?.number == after?.number ? now?.number : nil
  }

  /// Whether that is what is shown, or a few members had to move for it to be.
  private func follow(_ now: MembersMoment?) -> Bool {
    guard let now, let shown, let steps = now.steps(since: shown) else { return false }
    if steps.isEmpty { return true }
    let isDone = inside { steps.allSatisfy(carryOut) }
    self.shown = isDone ? now.number : nil
    return isDone
  }

  private func carryOut(_ step: MembersMoment.Step) -> Bool {
    var moved: Any? = owner.member(of: step)
    if let place = step.removed {
      moved = super.object(at: place)
      super.removeObject(at: place)
    }
    guard let place = step.inserted else { return true }
    guard let moved else { return false }
    super.insert(moved, at: place)
    return true
  }

  /// Puts into the storage what differs.
  private func show(_ now: [NSManagedObject]) {
    inside {
      let known = (0..<super.count).map { super.object(at: $0) as? NSManagedObject }
      var start = 0
      while start < known.count, start < now.count, known[start] === now[start] { start += 1 }
      var (end, newEnd) = (known.count, now.count)
      while end > start, newEnd > start, known[end - 1] === now[newEnd - 1] {
        (end, newEnd) = (end - 1, newEnd - 1)
      }
      // Each of those between moves all behind them: of many these go, too, and come again.
      if end - start + newEnd - start > 64 { (end, newEnd) = (known.count, now.count) }
      for place in (start..<end).reversed() { super.removeObject(at: place) }
      for place in start..<newEnd { super.insert(now[place], at: place) }
    }
  }

  private func inside<T>(_ body: () -> T) -> T {
    isInside = true
    defer { isInside = false }
    return body()
  }

  private func edit(_ body: () -> Void) {
    isEditing = true
    body()
    isEditing = false
    readMembers()
  }

  // MARK: Edits elsewhere

  var followed: ManagedObject { owner }

  func membersDidChange(isOver: Bool) {
    if isInside || isEditing { return }
    if isOver {
      // What belongs to no context any more shows what it showed last.
      if owner.managedObjectContext != nil { showMembers() }
    } else {
      let moment = owner.membersMoment(slot: slot, reads: false)
      if follow(moment) { return }
      guard let now = owner.membersAtHand(slot: slot) else { return }
      show(now)
      shown = moment?.number
    }
  }

  override var count: Int {
    readMembers()
    return super.count
  }
  override func object(at idx: Int) -> Any {
    readMembers()
    return super.object(at: idx)
  }
  override func index(of object: Any) -> Int {
    if isInside { return super.index(of: object) }
    return (object as? NSManagedObject).flatMap { members.firstIndex(of: $0) } ?? NSNotFound
  }
  override func contains(_ object: Any) -> Bool {
    if isInside { return super.contains(object) }
    return (object as? NSManagedObject).map { members.contains($0) } ?? false
  }
  override func enumerateObjects(_ block: (Any, Int, UnsafeMutablePointer<ObjCBool>) -> Void) {
    readMembers()
    super.enumerateObjects(block)
  }
  override func enumerateObjects(
    at s: IndexSet, options opts: NSEnumerationOptions = [],
    using block: (Any, Int, UnsafeMutablePointer<ObjCBool>) -> Void
  ) {
    readMembers()
    super.enumerateObjects(at: s, options: opts, using: block)
  }
  override func index(
    ofObjectAt s: IndexSet, options opts: NSEnumerationOptions = [],
    passingTest predicate: (Any, Int, UnsafeMutablePointer<ObjCBool>) -> Bool
  ) -> Int {
    readMembers()
    return super.index(ofObjectAt: s, options: opts, passingTest: predicate)
  }
  override func indexes(
    ofObjectsAt s: IndexSet, options opts: NSEnumerationOptions = [],
    passingTest predicate: (Any, Int, UnsafeMutablePointer<ObjCBool>) -> Bool
  ) -> IndexSet {
    readMembers()
    return super.indexes(ofObjectsAt: s, options: opts, passingTest: predicate)
  }
  override func index(
    of object: Any, inSortedRange range: NSRange, options opts: NSBinarySearchingOptions = [],
    usingComparator cmp: (Any, Any) -> ComparisonResult
  ) -> Int {
    readMembers()
    return super.index(of: object, inSortedRange: range, options: opts, usingComparator: cmp)
  }
  override func sortedArray(
    options opts: NSSortOptions = [], usingComparator cmptr: (Any, Any) -> ComparisonResult
  ) -> [Any] {
    readMembers()
    return super.sortedArray(options: opts, usingComparator: cmptr)
  }
  override var description: String {
    readMembers()
    return super.description
  }
  override func insert(_ object: Any, at idx: Int) {
    if isInside { return super.insert(object, at: idx) }
    let object = managed(object)
    // A set: what is there already stays where it is.
    if !members.contains(object) { edit { members.insert(object, at: idx) } }
  }
  override func removeObject(at idx: Int) {
    if isInside { return super.removeObject(at: idx) }
    edit { members.remove(at: idx) }
  }
  override func replaceObject(at idx: Int, with obj: Any) {
    if isInside { return super.replaceObject(at: idx, with: obj) }
    edit { members.replace(at: idx, with: managed(obj)) }
  }
  override func removeAllObjects() {
    if isInside { return super.removeAllObjects() }
    edit { members.removeAll() }
  }

  // MARK: What Foundation does to its own storage

  /// Gives the relationship the members that `body` makes of those of now, in that order, each once.
  private func rearrange(_ body: (inout [NSManagedObject]) -> Void) {
    var all = Array(members)
    body(&all)
    var seen = Set<NSManagedObject>()
    all.removeAll { !seen.insert($0).inserted }
    edit { owner.setValue(all, forKey: key) }
  }

  private func objects(of other: NSOrderedSet) -> [NSManagedObject] { other.array.map(managed) }

  override func add(_ object: Any) {
    if isInside { return super.add(object) }
    let object = managed(object)
    if !members.contains(object) { edit { members.append(object) } }
  }
  override func add(_ objects: UnsafePointer<AnyObject>!, count: Int) {
    // Foundation's contract: `objects` leads to `count` of them.
    for place in 0..<count { add(objects[place]) }
  }
  override func addObjects(from array: [Any]) { rearrange { $0 += array.map(managed) } }
  override func insert(_ objects: [Any], at indexes: IndexSet) {
    for (object, place) in zip(objects, indexes) { insert(object, at: place) }
  }
  override func setObject(_ obj: Any, at idx: Int) {
    if idx == members.endIndex { add(obj) } else { replaceObject(at: idx, with: obj) }
  }
  override func remove(_ val: Any) {
    guard let object = val as? NSManagedObject else { return }
    edit { members.remove(object) }
  }
  override func removeObjects(in array: [Any]) {
    edit { for case let object as NSManagedObject in array { members.remove(object) } }
  }
  override func removeObjects(in range: NSRange) {
    rearrange { $0.removeSubrange(range.location..<range.location + range.length) }
  }
  override func removeObjects(at indexes: IndexSet) {
    rearrange { for place in indexes.reversed() { $0.remove(at: place) } }
  }
  override func replaceObjects(in range: NSRange, with objects: UnsafePointer<AnyObject>!, count: Int) {
    // Foundation's contract: `objects` leads to `count` of them.
    let new = (0..<count).map { managed(objects[$0]) }
    rearrange { $0.replaceSubrange(range.location..<range.location + range.length, with: new) }
  }
  override func replaceObjects(at indexes: IndexSet, with objects: [Any]) {
    rearrange { for (place, object) in zip(indexes, objects) { $0[place] = managed(object) } }
  }
  override func exchangeObject(at idx1: Int, withObjectAt idx2: Int) {
    let (first, last) = idx1 < idx2 ? (idx1, idx2) : (idx2, idx1)
    let object = members[first]
    if first == last { return }
    edit {
      members.move(from: last, to: first)
      members.insert(object, at: last)
    }
  }
  override func moveObjects(at indexes: IndexSet, to idx: Int) {
    rearrange { all in
      let moved = indexes.map { all[$0] }
      for place in indexes.reversed() { all.remove(at: place) }
      all.insert(contentsOf: moved, at: idx)
    }
  }
  override func union(_ other: NSOrderedSet) { addObjects(from: other.array) }
  override func minus(_ other: NSOrderedSet) { removeObjects(in: other.array) }
  override func intersect(_ other: NSOrderedSet) {
    let kept = Set(objects(of: other))
    rearrange { $0.removeAll { !kept.contains($0) } }
  }
  override func unionSet(_ other: Set<AnyHashable>) { addObjects(from: other.map(\.base)) }
  override func minusSet(_ other: Set<AnyHashable>) { removeObjects(in: other.map(\.base)) }
  override func intersectSet(_ other: Set<AnyHashable>) {
    rearrange { $0.removeAll { !other.contains(AnyHashable($0)) } }
  }
  override func sort(using sortDescriptors: [NSSortDescriptor]) {
    rearrange { $0 = NSArray(array: $0).sortedArray(using: sortDescriptors).map(managed) }
  }
  override func sort(comparator cmptr: (Any, Any) -> ComparisonResult) {
    rearrange { $0.sort { cmptr($0, $1) == .orderedAscending } }
  }
  override func sort(options opts: NSSortOptions = [], usingComparator cmptr: (Any, Any) -> ComparisonResult)
  {
    sort(comparator: cmptr)
  }
  override func sortRange(
    _ range: NSRange, options opts: NSSortOptions = [], usingComparator cmptr: (Any, Any) -> ComparisonResult
  ) {
    rearrange {
      $0[range.location..<range.location + range.length].sort { cmptr($0, $1) == .orderedAscending }
    }
  }

  override func copy(with zone: NSZone? = nil) -> Any { NSOrderedSet(array: Array(members)) }
  override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableOrderedSet(array: Array(members)) }
}
