import StrataCore

/// The list behind a fetched results controller, whatever type that has: follows StrataCore's controller and tells the delegate.
///
/// Between `resultsWillChange` and the end of an event the changes are collected; then the delegate is told of the difference, or of one change
/// after the other. On the context's queue.
final class ResultsSource {
  let request: NSFetchRequestDescription
  let context: NSManagedObjectContext
  let sectionNameKeyPath: String?
  let cacheName: String?
  /// Set on the context's queue, and taken away from any thread.
  var delegate: (any NSFetchedResultsControllerDelegate)? {
    get { lock.withLock { heldDelegate } }
    set {
      guard let newValue else {
        let told = lock.withLock {
          heldDelegate = nil
          return followed
        }
        told?.delegate = nil
        return
      }
      lock.withLock { heldDelegate = newValue }
      // Which checks the queue.
      followed?.delegate = self
      hasNoDifferenceMethod = false
      takesDifferences = false
      // It may have been taken away meanwhile, on another thread.
      if delegate == nil { followed?.delegate = nil }
    }
  }
  private weak var heldDelegate: (any NSFetchedResultsControllerDelegate)?
  /// Guards the delegate, and writing `followed`.
  private let lock = NSLock()
  /// Set by the default implementation of the difference method.
  var hasNoDifferenceMethod = false
  /// Whether a difference was reported and a delegate took it.
  private var takesDifferences = false
  /// The controller itself, which may be of a subclass.
  weak var owner: NSFetchedResultsList?
  /// Gives the controller as delegates see it.
  var makeController: () -> NSFetchedResultsController<any NSFetchRequestResult>?

  /// Written on the context's queue, under the lock.
  private var followed: FetchedResultsController<ManagedObject>?
  /// What the context makes of what `followed` has found; nil when the stores decide it all.
  private var decided: (list: MemoryList, request: LoweredFetch)?
  private var objects: [ManagedObject]?
  private var sections: [FetchedSection]?
  private var collected = Collected()

  private struct Collected {
    var sections: [(info: FetchedSection, index: Int, type: NSFetchedResultsChangeType)] = []
    var items: [Item] = []

    struct Item {
      let object: ManagedObject
      let old: IndexPath?
      let new: IndexPath?
      let type: NSFetchedResultsChangeType
    }
  }

  init(
    _ request: NSFetchRequestDescription, _ context: NSManagedObjectContext, _ sectionNameKeyPath: String?,
    _ cacheName: String?
  ) {
    self.request = request
    self.context = context
    self.sectionNameKeyPath = sectionNameKeyPath
    self.cacheName = cacheName
    makeController = { nil }
  }

  /// Fetches by what the request says now.
  func performFetch() throws {
    guard request.resultType == .managedObjectResultType else {
      throw CoreDataError(
        .coreData,
        "The results of a fetched results controller are managed objects; its request has another resultType (raw value \(request.resultType.rawValue))."
      )
    }
    if request.sortDescriptors == nil {
      throw CoreDataError(
        .coreData,
        "The fetch request for \(request.entityName ?? "") of a fetched results controller has no sort descriptors; set some, or an empty list for the store's order."
      )
    }
    try context.fetching(request) { try follow($0) }
  }

  private func follow(_ lowered: LoweredFetch) throws {
    if lowered.isForMemory {
      try requireSectionKeys()
    } else {
      try lowered.requireStoresOrder("A fetched results controller")
    }
    let objects = lowered.request.returning(ManagedObject.self)
    let next =
      if lowered.isForMemory {
        FetchedResultsController<ManagedObject>(fetchRequest: objects, managedObjectContext: context)
      } else if let computed = computedSections() {
        FetchedResultsController<ManagedObject>(
          fetchRequest: objects, managedObjectContext: context, computedSections: computed,
          cacheName: cacheName)
      } else {
        FetchedResultsController<ManagedObject>(
          fetchRequest: objects, managedObjectContext: context, sectionNameKeyPath: sectionNameKeyPath,
          cacheName: cacheName)
      }
    next.sectionTitle = { [weak self] in self?.indexTitle($0) }
    next.listDidChange = { [weak self] in self?.forget() }
    // The same instances, with what their classes store in Swift, as long as the list has them.
    next.keptObjects = followed?.keptObjects ?? []
    if delegate != nil { next.delegate = self }
    try next.performFetch()
    decided = lowered.isForMemory ? (try list(of: next, lowered), lowered) : nil
    followed?.delegate = nil
    lock.withLock { followed = next }
    // It may have been taken away meanwhile, on another thread.
    if delegate == nil { next.delegate = nil }
    forget()
  }

  /// What the context makes of what `controller` has found.
  /// - Throws: `CoreDataError` 134060 when the objects of a section do not stand together, or one cannot be asked.
  private func list(of controller: FetchedResultsController<ManagedObject>, _ lowered: LoweredFetch) throws
    -> MemoryList
  {
    let objects = try lowered.window(controller.fetchedObjects.map { Array($0) } ?? [])
    return try MemoryList(
      objects, sectionName: sectionNameKeyPath.map { path in { Self.sectionName($0, path) } })
  }

  /// - Throws: `FetchError` for a section key path that leads to no value of an object, in a list that the context makes.
  private func requireSectionKeys() throws {
    guard let path = sectionNameKeyPath, computedSections() == nil, let name = request.entityName else {
      return
    }
    try context.requireNames(
      of: FetchRequest<ManagedObjectID>(entityName: name, sortDescriptors: [FetchSort(path)]))
  }

  /// Sections that no stored value names: the key path comes by a property that a class declares in Swift, or ends at a transient attribute.
  private func computedSections() -> ComputedSections? {
    guard let path = sectionNameKeyPath, let name = request.entityName,
      var entity = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[name]
    else { return nil }
    var affecting: Set<String> = []
    var before = ""
    for part in path.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
      let property = entity.propertiesByName[part]
      let type = entity.managedObjectClass as? NSManagedObject.Type ?? NSManagedObject.self
      let isDeclared = type.declaresKey(part, isModeled: property != nil)
      if isDeclared || (property as? NSAttributeDescription)?.isTransient == true {
        // What stands before is followed as it is in a stored path.
        affecting.formUnion(type.keyPathsForValuesAffectingValue(forKey: part).map { before + $0 })
        return ComputedSections(keyPath: path, affecting: affecting) { Self.sectionName($0, path) }
      }
      guard let relationship = property as? NSRelationshipDescription, !relationship.isToMany,
        let destination = relationship.destinationEntity
      else { return nil }
      entity = destination
      before += part + "."
    }
    return nil
  }

  private static func sectionName(_ object: NSManagedObject, _ path: String) -> String {
    switch object.value(forKeyPath: path) {
    case nil: return ""
    case let name as String: return name
    case let value?:
      // Numbers and dates are called as in sections by stored values.
      if let number = AttributeValue(value, type: .undefined) {
        switch number {
        case .boolean, .double, .float, .date: return SectionText.text(number)
        default: break
        }
      }
      return "\(value)"
    }
  }

  private func forget() {
    objects = nil
    sections = nil
  }

  // MARK: The list

  /// All objects; nil before they were fetched (rule 243).
  var fetchedObjects: [ManagedObject]? {
    guard let found = followed?.fetchedObjects else {
      // After a reset, say.
      forget()
      return nil
    }
    if let objects { return objects }
    let objects = decided?.list.objects ?? Array(found)
    self.objects = objects
    return objects
  }

  var fetchedSections: [FetchedSection]? {
    guard let followed, followed.fetchedObjects != nil else { return nil }
    if let sections { return sections }
    if let list = decided?.list {
      let sections = list.sections.map { section(of: list, $0.name, $0.range) }
      self.sections = sections
      return sections
    }
    guard let found = followed.sections else { return nil }
    let sections = found.map { section in
      FetchedSection(
        name: section.name, indexTitle: indexTitle(section.name), numberOfObjects: section.numberOfObjects
      ) { Array(section.objects) }
    }
    self.sections = sections
    return sections
  }

  private func section(of list: MemoryList, _ name: String, _ range: Range<Int>) -> FetchedSection {
    FetchedSection(name: name, indexTitle: indexTitle(name), numberOfObjects: range.count) {
      Array(list.objects[range])
    }
  }

  func object(at indexPath: IndexPath) -> ManagedObject {
    guard let followed else { stop("there are no objects before performFetch().") }
    if let list = decided?.list, followed.fetchedObjects != nil {
      guard indexPath.count == 2, list.sections.indices.contains(indexPath[0]),
        list.sections[indexPath[0]].range.indices.contains(
          list.sections[indexPath[0]].range.lowerBound + indexPath[1])
      else { stop("there is no object at \(indexPath).") }
      return list.objects[list.sections[indexPath[0]].range.lowerBound + indexPath[1]]
    }
    return followed.object(at: indexPath)
  }

  func indexPath(forObject object: ManagedObject) -> IndexPath? {
    guard let list = decided?.list else { return followed?.indexPath(forObject: object) }
    return followed?.fetchedObjects == nil ? nil : list.indexPath(of: object)
  }

  // MARK: Titles

  /// The first letter of a name, capitalised; nil for an empty name (rule 258).
  static func usualIndexTitle(_ name: String) -> String? {
    FetchedResultsController<ManagedObject>.usualIndexTitle(name)
  }

  /// What the controller says, which may be of a subclass.
  func indexTitle(_ name: String) -> String? {
    guard let owner else { return usualTitle(name) }
    return owner.title(ofSection: name)
  }

  /// What `list` says without being of a subclass. The controller under another type says what the controller itself does.
  func indexTitle(_ name: String, askedBy list: NSFetchedResultsList) -> String? {
    guard let owner, ObjectIdentifier(owner) != ObjectIdentifier(list) else { return usualTitle(name) }
    return owner.title(ofSection: name)
  }

  /// What the delegate says, or the first letter.
  func usualTitle(_ name: String) -> String? {
    guard let delegate, let shown = makeController() else { return Self.usualIndexTitle(name) }
    return delegate.controller(shown, sectionIndexTitleForSectionName: name)
  }

  var sectionIndexTitles: [String] {
    decided == nil ? followed?.sectionIndexTitles ?? [] : titles.map(\.title)
  }

  func section(forTitle title: String, at index: Int) -> Int {
    guard let followed else { stop("there are no sections before performFetch().") }
    if decided == nil { return followed.section(forSectionIndexTitle: title, at: index) }
    let titles = titles
    guard titles.indices.contains(index), titles[index].title == title else {
      stop("“\(title)” is not the title number \(index) of the sections.")
    }
    return titles[index].section
  }

  /// The titles of the sections of a list that the context makes, each once, with the first section of each.
  private var titles: [(title: String, section: Int)] {
    guard sectionNameKeyPath != nil, let list = decided?.list, followed?.fetchedObjects != nil else {
      return []
    }
    var titles: [(title: String, section: Int)] = []
    for (place, section) in list.sections.enumerated() {
      if let title = indexTitle(section.name), title != titles.last?.title { titles.append((title, place)) }
    }
    return titles
  }
}

extension ResultsSource: FetchedResultsChangeDelegate {
  typealias Result = ManagedObject

  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    collected = Collected()
    // Whether a list that the context makes changes is known afterwards.
    if decided != nil { return }
    tellOfBeginning()
  }

  private func tellOfBeginning() {
    guard !takesDifferences, let delegate, let shown = makeController() else { return }
    delegate.controllerWillChangeContent(shown)
  }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>,
    didChange section: FetchedResultsSection<ManagedObject>, atSectionIndex index: Int,
    for type: FetchedResultsChangeType
  ) {
    let info = FetchedSection(
      name: section.name, indexTitle: section.indexTitle, numberOfObjects: section.numberOfObjects
    ) { Array(section.objects) }
    collected.sections.append((info, index, type))
  }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
    at indexPath: IndexPath?, for type: FetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    collected.items.append(Collected.Item(object: object, old: indexPath, new: newIndexPath, type: type))
  }

  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    var changes = collected
    collected = Collected()
    if let decided {
      guard let found = decide(controller, decided, changes) else { return }
      changes = found
    }
    forget()
    guard let delegate, let shown = makeController() else { return }
    if sectionNameKeyPath == nil, !hasNoDifferenceMethod {
      delegate.controller(shown, didChangeContentWith: Self.difference(changes.items))
      if !hasNoDifferenceMethod {
        takesDifferences = true
        return
      }
    }
    // A delegate that is taken away, here or on another thread, gets no more of these changes.
    var isOver: Bool { delegate !== self.delegate }
    for (info, index, type) in changes.sections where !isOver {
      delegate.controller(shown, didChange: info, atSectionIndex: index, for: type)
    }
    for item in changes.items where !isOver {
      delegate.controller(
        shown, didChange: item.object, at: item.old, for: item.type, newIndexPath: item.new)
    }
    if !isOver { delegate.controllerDidChangeContent(shown) }
  }

  /// Makes the list anew, of objects that have changed as `touched` says; nil when it is as it was.
  private func decide(
    _ controller: FetchedResultsController<ManagedObject>,
    _ before: (list: MemoryList, request: LoweredFetch),
    _ touched: Collected
  ) -> Collected? {
    let list: MemoryList
    do { list = try self.list(of: controller, before.request) } catch {
      // As a controller is whose sections do not stand together any more: as before performFetch().
      followed?.delegate = nil
      lock.withLock { followed = nil }
      decided = nil
      forget()
      Diagnostics.write("a fetched results controller could not follow its context", error, .error)
      return nil
    }
    let objects = Set(touched.items.map { ObjectIdentifier($0.object) })
    let changes = before.list.changes(to: list, touched: objects)
    if changes.isEmpty { return nil }
    // It is told before the list is another one.
    tellOfBeginning()
    // The delegate may have fetched again: there is nothing to report of the list of before, but that it is over.
    guard followed === controller else { return Collected() }
    decided?.list = list
    var found = Collected()
    found.items = changes.items.map {
      Collected.Item(object: $0.object, old: $0.old, new: $0.new, type: $0.type)
    }
    found.sections =
      changes.deletedSections.map { place in
        // One that has gone holds no objects.
        (section(of: before.list, before.list.sections[place].name, 0..<0), place, .delete)
      }
      + changes.insertedSections.map { place in
        (section(of: list, list.sections[place].name, list.sections[place].range), place, .insert)
      }
    return found
  }

  /// Moves and updates are removals and insertions that belong together.
  private static func difference(_ items: [Collected.Item]) -> CollectionDifference<NSManagedObjectID> {
    var changes: [CollectionDifference<NSManagedObjectID>.Change] = []
    for item in items {
      let id = item.object.objectID
      let (old, new) = (item.old?[1], item.new?[1] ?? (item.type == .update ? item.old?[1] : nil))
      if let old { changes.append(.remove(offset: old, element: id, associatedWith: new)) }
      if let new { changes.append(.insert(offset: new, element: id, associatedWith: old)) }
    }
    guard let difference = CollectionDifference(changes) else {
      stop("the changes of a list contradict each other.")
    }
    return difference
  }
}

/// One section as it was when it was asked for.
final class FetchedSection: NSFetchedResultsSectionInfo {
  let name: String
  let indexTitle: String?
  let numberOfObjects: Int
  private let read: () -> [ManagedObject]
  private lazy var found = read()

  init(name: String, indexTitle: String?, numberOfObjects: Int, read: @escaping () -> [ManagedObject]) {
    self.name = name
    self.indexTitle = indexTitle
    self.numberOfObjects = numberOfObjects
    self.read = read
  }

  var objects: [Any]? { found }
}
