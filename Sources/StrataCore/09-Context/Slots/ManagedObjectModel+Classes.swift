import Synchronization

extension ManagedObjectModel {
  /// A model of the entities that the classes declare, and of all that their relationships and superclasses lead to. Subclasses have to be named.
  ///
  /// It may be changed until it is taken into use. Containers that are made for classes share one model for the same classes instead.
  /// - Throws: `ModelError` with a sentence for each mistake, naming class, property and file.
  public convenience init(for types: ManagedObject.Type...) throws(ModelError) {
    let made = try ModelBuilder.model(of: types)
    self.init(entities: made.entities)
    for name in made.configurations {
      setEntities(made.entities(forConfigurationName: name) ?? [], forConfigurationName: name)
    }
  }

  /// The one model of these classes: objects of all containers made for them have the same entities, so that a slot finds its place at once.
  /// - Throws: `ModelError` as the initializer.
  package static func shared(for types: [ManagedObject.Type]) throws(ModelError) -> ManagedObjectModel {
    let key = ModelBuilder.classes(reachedFrom: types)
    if let known = sharedModels.withLock({ $0[key] }) { return known }
    let made = try ModelBuilder.model(of: types)
    return sharedModels.withLock { models in
      if let known = models[key] { return known }
      models[key] = made
      return made
    }
  }

  private static let sharedModels = Mutex<[Set<ObjectIdentifier>: ManagedObjectModel]>([:])
}
