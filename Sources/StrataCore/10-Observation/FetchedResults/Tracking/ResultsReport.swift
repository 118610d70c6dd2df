import Foundation

/// How a list has changed, in the words of the delegate's calls (rules 246–256). Made from what was touched; pure.
///
/// ```
///   sections that have vanished      by their index before
///   sections that are new            by their index afterwards
///   objects: delete, insert, move, update
/// ```
///
/// Taking out what is deleted or moved, then putting in what is inserted or moved, in ascending order, makes the new list of the old.
struct ResultsReport {
  struct Section {
    let index: Int
    let name: String
  }

  struct Item {
    let identity: UInt64
    let code: UInt16
    let kind: FetchedResultsChangeType
    /// The position in the list before, and the section and row there.
    var oldPosition = -1
    var newPosition = -1
    var oldPath: IndexPath?
    var newPath: IndexPath?
  }

  let old: EntryList
  let new: EntryList
  private(set) var deletedSections: [Section] = []
  private(set) var insertedSections: [Section] = []
  private(set) var items: [Item] = []
  let stores: [StoreBinding]

  var isEmpty: Bool { items.isEmpty && deletedSections.isEmpty && insertedSections.isEmpty }

  init(
    old: EntryList, new: EntryList, _ touches: [EntryTouch], oldCounts: ContiguousArray<Int>,
    newCounts: ContiguousArray<Int>, hasSections: Bool, names: [String], stores: [StoreBinding]
  ) {
    self.old = old
    self.new = new
    self.stores = stores
    let moved = touches.filter(\.isMoved)
    var sections = SectionChanges()
    if hasSections {
      sections = SectionChanges(old, new, moved, oldCounts, newCounts)
      deletedSections = sections.deleted.map { Section(index: $0.index, name: names[Int($0.section)]) }
      insertedSections = sections.inserted.map { Section(index: $0.index, name: names[Int($0.section)]) }
    }
    let stayers = Self.stayers(moved, sections)
    let oldPaths = PathFinder(old, hasSections, forMany: touches.count)
    let newPaths = PathFinder(new, hasSections, forMany: touches.count)
    items.reserveCapacity(touches.count)
    for touch in touches {
      let kind: FetchedResultsChangeType =
        touch.new == nil
        ? .delete
        : touch.old == nil ? .insert : touch.isMoved && !stayers.contains(touch.identity) ? .move : .update
      guard let code = (touch.new ?? touch.old)?.code else { continue }
      var item = Item(identity: touch.identity, code: code, kind: kind)
      if touch.old != nil {
        item.oldPosition = touch.oldPosition
        item.oldPath = oldPaths.path(touch.oldPosition)
      }
      if touch.new != nil {
        item.newPosition = touch.newPosition
        item.newPath = newPaths.path(touch.newPosition)
      }
      items.append(item)
    }
    items.sort(by: Self.isToldBefore)
  }

  /// Deletions, insertions, moves, updates, each in ascending order.
  private static func isToldBefore(_ left: Item, _ right: Item) -> Bool {
    func rank(_ kind: FetchedResultsChangeType) -> Int {
      switch kind {
      case .delete: 0
      case .insert: 1
      case .move: 2
      case .update: 3
      }
    }
    if left.kind != right.kind { return rank(left.kind) < rank(right.kind) }
    if left.kind == .delete { return left.oldPosition < right.oldPosition }
    return left.newPosition < right.newPosition
  }

  /// The identities of those whose entries are other ones, and that still stand in the same order to everything else that stays: as
  /// many as possible, so that only those that must are reported as moves (rules 249, 252).
  private static func stayers(_ moved: [EntryTouch], _ sections: SectionChanges) -> Set<UInt64> {
    let removed = moved.filter { $0.old != nil }.sorted { $0.oldPosition < $1.oldPosition }
    let inserted = moved.filter { $0.new != nil }.sorted { $0.newPosition < $1.newPosition }
    // How many untouched ones come before.
    var untouchedAfter: [UInt64: Int] = [:]
    for (place, touch) in inserted.enumerated() {
      untouchedAfter[touch.identity] = touch.newPosition - place
    }
    var candidates: [EntryTouch] = []
    for (place, touch) in removed.enumerated() {
      guard let old = touch.old, let new = touch.new, old.section == new.section,
        !sections.replaced.contains(old.section),
        untouchedAfter[touch.identity] == touch.oldPosition - place
      else { continue }
      candidates.append(touch)
    }
    return Set(Increasing.longest(candidates.map(\.newPosition)).map { candidates[$0].identity })
  }
}

/// Which sections have come and gone.
struct SectionChanges {
  private(set) var deleted: [(index: Int, section: UInt32)] = []
  private(set) var inserted: [(index: Int, section: UInt32)] = []
  /// Sections that are there before and afterwards, but not in the same place among the others: as if they were others.
  private(set) var replaced: Set<UInt32> = []

  init() {}

  init(
    _ old: EntryList, _ new: EntryList, _ moved: [EntryTouch], _ oldCounts: ContiguousArray<Int>,
    _ newCounts: ContiguousArray<Int>
  ) {
    func count(_ counts: ContiguousArray<Int>, _ section: UInt32) -> Int {
      Int(section) < counts.count ? counts[Int(section)] : 0
    }
    var removed: [UInt32: Int] = [:]
    var emptied: [(index: Int, section: UInt32)] = []
    var filled: [(index: Int, section: UInt32)] = []
    for touch in moved {
      guard let entry = touch.old else { continue }
      removed[entry.section, default: 0] += 1
      // The last of its entries is taken out: nothing of it stays where it is.
      if removed[entry.section] == count(oldCounts, entry.section) {
        emptied.append((old.run(at: touch.oldPosition), entry.section))
      }
    }
    let isEmptied = Set(emptied.map(\.section))
    var isFilled: Set<UInt32> = []
    for touch in moved {
      guard let entry = touch.new,
        count(oldCounts, entry.section) == 0 || isEmptied.contains(entry.section),
        isFilled.insert(entry.section).inserted
      else { continue }
      filled.append((new.run(at: touch.newPosition), entry.section))
    }
    emptied.sort { $0.index < $1.index }
    filled.sort { $0.index < $1.index }
    var after: [UInt32: (untouched: Int, index: Int)] = [:]
    for (place, one) in filled.enumerated() { after[one.section] = (one.index - place, one.index) }
    var candidates: [(section: UInt32, index: Int)] = []
    for (place, one) in emptied.enumerated() {
      guard let found = after[one.section], found.untouched == one.index - place else { continue }
      candidates.append((one.section, found.index))
    }
    let same = Set(Increasing.longest(candidates.map(\.index)).map { candidates[$0].section })
    deleted = emptied.filter { !same.contains($0.section) }
    inserted = filled.filter { !same.contains($0.section) }
    replaced = isEmptied.intersection(isFilled).subtracting(same)
  }
}

/// Finds a longest increasing part of a sequence.
package enum Increasing {
  /// The places of its elements, ascending. `n log n` steps.
  package static func longest(_ values: [Int]) -> [Int] {
    /// By length, the place of the smallest element that such a part can end with.
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: values.count)
    for (place, value) in values.enumerated() {
      let low = ends.indices.partitioningIndex { values[ends[$0]] >= value }
      if low > 0 { before[place] = ends[low - 1] }
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var result: [Int] = []
    var place = ends.last ?? -1
    while place >= 0 {
      result.append(place)
      place = before[place]
    }
    return result.reversed()
  }
}

/// Positions as section and row.
struct PathFinder {
  private let list: EntryList
  private let hasSections: Bool
  /// Where each section begins, when there are fewer of them than paths to find.
  private let starts: [Int]

  init(_ list: EntryList, _ hasSections: Bool, forMany count: Int = 1) {
    self.list = list
    self.hasSections = hasSections
    let isWorthIt = hasSections && count > 1 && list.runCount <= count
    starts = isWorthIt ? (0..<list.runCount).map { list.start(ofRun: $0) } : []
  }

  func path(_ position: Int) -> IndexPath {
    if !hasSections { return IndexPath(indexes: [0, position]) }
    if starts.isEmpty {
      let section = list.run(at: position)
      return IndexPath(indexes: [section, position - list.start(ofRun: section)])
    }
    let section = (1..<starts.count).partitioningIndex { starts[$0] > position } - 1
    return IndexPath(indexes: [section, position - starts[section]])
  }
}
