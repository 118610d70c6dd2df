import StrataCore

/// The list of a fetched results controller whose members, or their order, the context decides: for stores in memory. A value, made anew at each change.
struct MemoryList {
  let objects: [ManagedObject]
  /// Where the objects of each section are; one section of all of them without a section key path.
  let sections: [(name: String, range: Range<Int>)]
  private let positions: [ObjectIdentifier: Int]
  private let hasSections: Bool

  /// - Parameter sectionName: What the section of an object is called; nil for one section.
  /// - Throws: `CoreDataError` 134060 when the objects of a section do not stand together.
  init(_ objects: [ManagedObject], sectionName: ((ManagedObject) -> String)?) throws {
    self.objects = objects
    hasSections = sectionName != nil
    positions = Dictionary(
      objects.enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })
    guard let sectionName else {
      sections = [("", 0..<objects.count)]
      return
    }
    var sections: [(name: String, range: Range<Int>)] = []
    var known: Set<String> = []
    for (position, object) in objects.enumerated() {
      let name = sectionName(object)
      if let last = sections.last, last.name == name {
        sections[sections.count - 1].range = last.range.lowerBound..<position + 1
      } else if known.insert(name).inserted {
        sections.append((name, position..<position + 1))
      } else {
        throw CoreDataError(
          .coreData,
          "Objects of \(object.entity.name ?? "") with the same section “\(name)” do not stand together in the order of the sort descriptors. "
            + "Sort by the section key path first.")
      }
    }
    self.sections = sections
  }

  func indexPath(of object: ManagedObject) -> IndexPath? { positions[ObjectIdentifier(object)].map(path) }

  func path(_ position: Int) -> IndexPath {
    let section = section(of: position)
    return IndexPath(indexes: [section, position - sections[section].range.lowerBound])
  }

  /// The last section that begins at a position or before it.
  private func section(of position: Int) -> Int {
    var (low, high) = (0, sections.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if sections[middle].range.lowerBound <= position { low = middle } else { high = middle }
    }
    return low
  }

  // MARK: Changes

  struct Changes {
    var deletedSections: [Int] = []
    var insertedSections: [Int] = []
    var items: [Item] = []

    struct Item {
      let object: ManagedObject
      let old: IndexPath?
      let new: IndexPath?
      let type: NSFetchedResultsChangeType
    }

    var isEmpty: Bool { items.isEmpty && deletedSections.isEmpty && insertedSections.isEmpty }
  }

  /// What has become of this list in `new`: deletions, insertions, moves and updates, each in order. As few as possible move.
  ///
  /// - Parameter touched: The objects that have changed.
  func changes(to new: MemoryList, touched: Set<ObjectIdentifier>) -> Changes {
    var changes = Changes()
    let replaced = hasSections ? sectionChanges(to: new, &changes) : []
    for (position, object) in objects.enumerated() where new.positions[ObjectIdentifier(object)] == nil {
      changes.items.append(.init(object: object, old: path(position), new: nil, type: .delete))
    }
    var stayers: [(old: Int, new: Int)] = []
    var movers: [(old: Int, new: Int)] = []
    for (position, object) in new.objects.enumerated() {
      guard let old = positions[ObjectIdentifier(object)] else {
        changes.items.append(.init(object: object, old: nil, new: new.path(position), type: .insert))
        continue
      }
      let (before, after) = (sections[section(of: old)].name, new.sections[new.section(of: position)].name)
      if before == after, !replaced.contains(before) {
        stayers.append((old, position))
      } else {
        movers.append((old, position))
      }
    }
    let inOrder = Set(Increasing.longest(stayers.map(\.old)))
    movers += stayers.indices.filter { !inOrder.contains($0) }.map { stayers[$0] }
    for (old, position) in movers.sorted(by: { $0.new < $1.new }) {
      changes.items.append(
        .init(object: new.objects[position], old: path(old), new: new.path(position), type: .move))
    }
    for place in inOrder.sorted() {
      let (old, position) = stayers[place]
      let object = new.objects[position]
      guard touched.contains(ObjectIdentifier(object)) else { continue }
      changes.items.append(.init(object: object, old: path(old), new: new.path(position), type: .update))
    }
    return changes
  }

  /// Which sections have come and gone; returns the names of those that are there before and afterwards, but not in the same place among the others: as if
  /// they were others.
  private func sectionChanges(to new: MemoryList, _ changes: inout Changes) -> Set<String> {
    let before = Dictionary(uniqueKeysWithValues: sections.enumerated().map { ($1.name, $0) })
    let common = new.sections.filter { before[$0.name] != nil }.map(\.name)
    let staying = Set(Increasing.longest(common.compactMap { before[$0] }).map { common[$0] })
    changes.deletedSections = sections.indices.filter { !staying.contains(sections[$0].name) }
    changes.insertedSections = new.sections.indices.filter { !staying.contains(new.sections[$0].name) }
    return Set(common).subtracting(staying)
  }
}
