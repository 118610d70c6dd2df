import Foundation
import StrataCore

extension NSEntityDescription {
  /// The entity of that name in the context's model; nil when it has none. Traps for a context without a coordinator.
  public static func entity(forEntityName entityName: String, in context: NSManagedObjectContext)
    -> NSEntityDescription?
  {
    guard let coordinator = context.persistentStoreCoordinator else {
      stop(
        "entity(forEntityName: \"\(entityName)\", in:): the context has no coordinator; set persistentStoreCoordinator or parent."
      )
    }
    return coordinator.managedObjectModel.entitiesByName[entityName]
  }

  /// Makes a new record of the entity of that name and inserts it. Traps when the model has no such entity.
  public static func insertNewObject(forEntityName entityName: String, into context: NSManagedObjectContext)
    -> NSManagedObject
  {
    guard let object = context.insertNew(named: entityName) else {
      stop(
        "insertNewObject(forEntityName:into:): the context\(context.persistentStoreCoordinator == nil ? " has no coordinator" : "'s model has no entity named “\(entityName)”")."
      )
    }
    return object
  }

  /// Names of properties that make a record unique.
  public var uniquenessConstraints: [[Any]] {
    get { self.StrataCore::uniquenessConstraints }
    set {
      self.StrataCore::uniquenessConstraints = newValue.map { constraint in
        constraint.map { ($0 as? String) ?? ($0 as? NSPropertyDescription)?.name ?? "\($0)" }
      }
    }
  }

  /// The name of the class of the entity's objects, `NSManagedObject` unless set. `Module.Class` for Swift classes.
  public var managedObjectClassName: String! {
    get {
      let name: String = self.StrataCore::managedObjectClassName
      guard let own = managedObjectClass else { return name == "ManagedObject" ? "NSManagedObject" : name }
      return own == NSManagedObject.self ? "NSManagedObject" : name
    }
    set { self.StrataCore::managedObjectClassName = newValue }
  }

  /// The model the entity belongs to.
  public var managedObjectModel: NSManagedObjectModel! { self.StrataCore::managedObjectModel }
}

extension NSPropertyDescription {
  /// The entity that declares the property.
  public var entity: NSEntityDescription! { self.StrataCore::entity }
}

extension NSManagedObject {
  /// True: only properties of the model make an object changed.
  public static var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }
}

extension NSDerivedAttributeDescription {
  /// What the value is derived from: `items.@count`, `canonical:(name)`, `now()` and the like.
  public var derivationExpression: NSExpression? {
    get {
      if let derivationTree { return OpaqueArguments().expression(derivationTree) }
      // What is none of the forms is refused with the model; until then it is what it says, if it says anything.
      return self.StrataCore::derivationExpression.flatMap { try? FetchExpression(format: $0) }.map {
        OpaqueArguments().expression($0)
      }
    }
    set { self.StrataCore::derivationExpression = newValue?.description }
  }
}

extension NSManagedObjectID {
  /// An ID that is equal to none but its copies: no object has it.
  public init() { self = .ofNothing() }

  /// The record's entity. Traps when no store that has the ID is open.
  public var entity: NSEntityDescription {
    let coordinators = known.map { [$0.coordinator] } ?? LivingCoordinators.all
    for coordinator in coordinators {
      if let entity = coordinator.managedObjectModel.entitiesByName[entityName] { return entity }
    }
    stop("No coordinator has the entity \(entityName) of \(self).")
  }

  /// The store the record is kept in, while it is attached to a coordinator. Where several coordinators have it open, that of the context whose block runs on this
  /// thread; outside of all blocks, that of the newest coordinator.
  public var persistentStore: NSPersistentStore? {
    known.map { .of($0.store, in: $0.coordinator) }
  }

  private var known: (coordinator: PersistentStoreCoordinator, store: any PersistentStore)? {
    LivingCoordinators.store(storeIdentifier, preferring: ManagedObjectContext.enteredCoordinators)
  }
}
