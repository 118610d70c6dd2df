extension ManagedObjectModel {
  /// A model with the entities, configurations and version identifiers of all `models`, which stay as they are.
  ///
  /// An entity that several models have in the same version is taken once, from the first; so is a fetch request template of one name.
  ///
  /// - Throws: ``ModelError`` naming every entity that two models have in different versions (rule 319).
  @_disfavoredOverload public convenience init(byMerging models: [ManagedObjectModel]) throws {
    var merged = ModelDocument(versionIdentifiers: [], entities: [], configurations: [:])
    var classes: [String: AnyClass] = [:]
    var sources: [String: ManagedObjectModel] = [:]
    var sentences: [String] = []
    for model in models {
      let document = try ModelDocument(model, keepsTransformedDefaults: false)
      for entity in document.entities {
        let existing = merged.entities.first { $0.name == entity.name }
        if existing == nil {
          merged.entities.append(entity)
          sources[entity.name] = model
          if let type = model.entitiesByName[entity.name]?.explicitClass { classes[entity.name] = type }
        } else if existing?.versionHash != entity.versionHash {
          sentences.append("Two models define entity \(entity.name) differently.")
        }
      }
      merged.versionIdentifiers += document.versionIdentifiers
      merged.configurations.merge(document.configurations) { old, new in
        old + new.filter { !old.contains($0) }
      }
    }
    guard sentences.isEmpty else { throw ModelError(sentences) }
    let model = try merged.makeModel(classes: classes)
    for (name, source) in sources {
      model.takeRules(ofEntity: name, from: source)
      model.takeComputed(ofEntity: name, from: source)
      model.takeTransformedDefaults(ofEntity: name, from: source)
    }
    self.init(takingOver: model)
    for model in models {
      versionsBeside += model.versionsBeside.filter { !versionsBeside.contains($0) }
      templates.merge(model.templates) { first, _ in first }
      guard let words = model.localizationDictionary else { continue }
      localizationDictionary = (localizationDictionary ?? [:]).merging(words) { first, _ in first }
    }
  }

  /// `init(byMerging:)` for callers that see another initialiser of that name.
  package static func make(byMerging models: [ManagedObjectModel]) throws -> ManagedObjectModel {
    try ManagedObjectModel(byMerging: models)
  }

  /// A changeable copy of the model and all its descriptions.
  ///
  /// - Throws: ``ModelError`` when something in it has no codable form.
  @_disfavoredOverload public func copy() throws -> ManagedObjectModel {
    try ManagedObjectModel(byMerging: [self])
  }

  /// Moves the entities of a model that is not known elsewhere.
  package convenience init(takingOver model: ManagedObjectModel) {
    let configurations = model.entitiesByConfiguration
    self.init(entities: model.entities)
    versionIdentifiers = model.versionIdentifiers
    localizationDictionary = model.localizationDictionary
    templates = model.templates
    versionsBeside = model.versionsBeside
    for (name, entities) in configurations { setEntities(entities, forConfigurationName: name) }
  }
}
