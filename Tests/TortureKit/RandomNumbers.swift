import SeededRandom

/// Random numbers that depend on the seed alone, for whoever imports this module.
public typealias SeededGenerator = SeededRandom.SeededGenerator
