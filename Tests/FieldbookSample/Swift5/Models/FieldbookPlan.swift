import SwiftData

/// How stores of earlier versions become stores of the present one.
enum FieldbookPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] {
    [SchemaV1.self, SchemaV2.self, SchemaV3.self, SchemaV4.self]
  }

  static var stages: [MigrationStage] {
    [v1ToV2, v2ToV3, v3ToV4]
  }

  static let v1ToV2 = MigrationStage.lightweight(fromVersion: SchemaV1.self, toVersion: SchemaV2.self)

  /// Sites of one name are merged before the name must be unique; afterwards the codes in the texts become species.
  static let v2ToV3 = MigrationStage.custom(
    fromVersion: SchemaV2.self,
    toVersion: SchemaV3.self,
    willMigrate: { context in
      let sites = try context.fetch(FetchDescriptor<SchemaV2.Site>())
      let groups = Dictionary(grouping: sites, by: \.name)
      for (_, duplicates) in groups where duplicates.count > 1 {
        guard let kept = duplicates.first else { continue }
        for other in duplicates.dropFirst() {
          for sighting in other.sightings {
            sighting.site = kept
          }
          context.delete(other)
        }
      }
      try context.save()
    },
    didMigrate: { context in
      var known: [String: SchemaV3.Species] = [:]
      for species in try context.fetch(FetchDescriptor<SchemaV3.Species>()) {
        known[species.code] = species
      }
      let sightings = try context.fetch(FetchDescriptor<SchemaV3.Sighting>())
      for sighting in sightings where sighting.species == nil {
        let words = sighting.text.split(separator: " ", maxSplits: 1)
        guard let first = words.first, first.count == 4, first.allSatisfy(\.isUppercase) else { continue }
        let code = String(first)
        let species =
          known[code]
          ?? {
            let made = SchemaV3.Species(code: code, commonName: code.capitalized)
            context.insert(made)
            known[code] = made
            return made
          }()
        sighting.species = species
        sighting.text = words.count > 1 ? String(words[1]) : ""
      }
      try context.save()
    })

  static let v3ToV4 = MigrationStage.lightweight(fromVersion: SchemaV3.self, toVersion: SchemaV4.self)
}
