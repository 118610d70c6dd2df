import StrataCore

/// Which models each store of a container has: the configurations of its model, where there are several stores.
struct StoreParts {
  /// What each configuration is called in the model, in order. One that was given no name has one that no other has.
  let names: [String]
  private let schema: Schema
  /// The entities of each; nil for those that no other names.
  private let entities: [Set<String>?]
  /// The entities that any of them names.
  private let named: Set<String>

  init(_ configurations: [any DataStoreConfiguration], of schema: Schema) {
    func isNamed(_ configuration: any DataStoreConfiguration) -> Bool {
      (configuration as? ModelConfiguration)?.isNamed ?? true
    }
    var taken = Set(configurations.filter { isNamed($0) }.map { $0.name })
    names = configurations.map { configuration in
      if isNamed(configuration) { return configuration.name }
      var name = configuration.name
      var number = 1
      while !taken.insert(name).inserted {
        number += 1
        name = "\(configuration.name) \(number)"
      }
      return name
    }
    self.schema = schema
    entities = configurations.map { $0.schema.map { Set($0.entities.map(\.name)) } }
    named = Set(entities.flatMap { $0 ?? [] })
  }

  /// Says in the container's model which entities each store has.
  func divide(_ model: ManagedObjectModel) {
    for (place, name) in names.enumerated() {
      let held = model.entities.filter { has($0.name, at: place) }
      model.setEntities(held, forConfigurationName: name)
    }
  }

  /// Says in the model of another version which entities the store of one configuration has.
  ///
  /// What the container's models no longer have stays where it is: it belongs to the store that holds it. What came and went between the store's version and
  /// theirs may be put into each store.
  func divide(_ model: ManagedObjectModel, for name: String, as file: StoredEntities) {
    guard let place = names.firstIndex(of: name) else { return }
    let held = model.entities.filter { entity in
      guard let own = entity.name else { return false }
      if named.contains(own) || schema.entitiesByName[own] != nil { return has(own, at: place) }
      return file.mayHold(own)
    }
    model.setEntities(held, forConfigurationName: name)
  }

  private func has(_ entity: String?, at place: Int) -> Bool {
    guard let entity else { return false }
    return entities[place]?.contains(entity) ?? !named.contains(entity)
  }
}

/// The entities of a store that is not open, read when they are first asked for.
final class StoredEntities {
  private let description: PersistentStoreDescription
  private lazy var known: (held: Set<String>, all: Set<String>) = read()

  init(_ description: PersistentStoreDescription) { self.description = description }

  /// Whether the store holds an entity, or its version knows nothing of it.
  func mayHold(_ entity: String) -> Bool { known.held.contains(entity) || !known.all.contains(entity) }

  /// Nothing for a store that is not there yet; what else is wrong with it, opening it tells.
  private func read() -> (held: Set<String>, all: Set<String>) {
    guard description.url != nil, let kind = try? StoreEngines.kind(description.type),
      let held = try? kind.metadata(of: description).versionHashes.keys,
      let model = try? kind.model(of: description, withClasses: false)
    else { return ([], []) }
    return (Set(held), Set(model.entities.compactMap(\.name)))
  }
}
