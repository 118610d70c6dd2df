import StrataCore

/// Says of each part of a request whether a store looks it up, or the context has to work it out in memory.
struct MemoryDivision {
  private let context: NSManagedObjectContext
  private let entityName: String
  private let check: MemoryCheck
  private let entity: NSEntityDescription

  /// - Parameter entity: That of the request.
  init(_ context: NSManagedObjectContext, _ entity: NSEntityDescription) {
    self.context = context
    self.entity = entity
    entityName = entity.name ?? ""
    check = MemoryCheck(context, entity)
  }

  /// What a store looks up; nil for what is worked out in memory.
  /// - Throws: why neither can do it.
  func stored(_ part: NSPredicate) throws -> FetchPredicate? {
    do {
      let tree = try FetchLowering(context: context).predicate(part)
      try context.requireNames(of: FetchRequest<ManagedObjectID>(entityName: entityName, predicate: tree))
      return tree
    } catch {
      guard try check.needsMemory(part) else { throw error }
      return nil
    }
  }

  /// The same of a sort descriptor.
  /// - Throws: why neither can do it.
  func stored(_ descriptor: NSSortDescriptor) throws -> FetchSort? {
    do {
      let lowered = try descriptor.lowered(for: context, entityName: entityName)
      try context.requireNames(
        of: FetchRequest<ManagedObjectID>(entityName: entityName, sortDescriptors: [lowered.sort]))
      return lowered.isExact ? lowered.sort : nil
    } catch {
      guard try needsMemory(descriptor) else { throw error }
      return nil
    }
  }

  /// Whether it sorts by a function of the application. Values without an order of their own are sorted nowhere.
  private func needsMemory(_ descriptor: NSSortDescriptor) throws -> Bool {
    switch descriptor {
    case let keyed as KeyedSortDescriptor:
      guard case .comparator = keyed.rule else { return false }
      if let key = keyed.name { _ = try check.walk(key, from: entity) }
      return true
    // One of text that does not tell its key path.
    case let swift as SwiftSortDescriptor: return swift.path == nil
    case is KeyPathSortDescriptor: return false
    default:
      _ = try check.walk(try context.name(of: descriptor.keyPath, fromEntity: entityName), from: entity)
      return true
    }
  }
}

extension NSPredicate {
  /// The parts that must all be true.
  var conjuncts: [NSPredicate] {
    guard let compound = self as? NSCompoundPredicate, compound.compoundPredicateType == .and else {
      return [self]
    }
    return compound.subpredicates.flatMap(\.conjuncts)
  }
}

extension NSManagedObjectContext {
  /// Whether the stores that hold an entity are all in memory or atomic: Core Data evaluates requests to these with the objects.
  /// - Parameter affected: Which stores are asked; nil for all.
  func asksMemoryOnly(_ entityName: String, _ affected: Set<UUID>?) -> Bool {
    guard let coordinator = persistentStoreCoordinator else { return false }
    let holders = coordinator.holders(of: entityName, among: affected)
    return !holders.isEmpty
      && holders.allSatisfy { holder in
        let store = NSPersistentStore.of(holder, in: coordinator)
        return store is NSAtomicStore || store.type == NSInMemoryStoreType
      }
  }
}
