"""Which labels of AudioSet are speech and which are music.

Names as in Gemmeke et al., "Audio Set: An ontology and human-labeled dataset for audio events" (2017). What is below
Music there (genres, instruments but bells, moods) and Singing is music; Speech and what is below it is speech.
"""

# In small letters, for models write them in several ways; separated by ';', for some hold a comma.
_SPEECH = """
    speech; male speech, man speaking; female speech, woman speaking; child speech, kid speaking; conversation;
    narration, monologue; babbling; speech synthesizer; whispering
"""
_MUSIC = """
    music; musical instrument; plucked string instrument; guitar; electric guitar; bass guitar; acoustic guitar;
    steel guitar, slide guitar; tapping (guitar technique); strum; banjo; sitar; mandolin; zither; ukulele;
    keyboard (musical); piano; electric piano; organ; electronic organ; hammond organ; synthesizer; sampler;
    harpsichord; percussion; drum kit; drum machine; drum; snare drum; rimshot; drum roll; bass drum; timpani;
    tabla; cymbal; hi-hat; wood block; tambourine; rattle (instrument); maraca; gong; tubular bells; mallet
    percussion; marimba, xylophone; glockenspiel; vibraphone; steelpan; orchestra; brass instrument; french horn;
    trumpet; trombone; bowed string instrument; string section; violin, fiddle; pizzicato; cello; double bass;
    wind instrument, woodwind instrument; flute; saxophone; clarinet; harp; harmonica; accordion; bagpipes;
    didgeridoo; shofar; theremin; singing bowl; scratching (performance technique); pop music; hip hop music;
    beatboxing; rock music; heavy metal; punk rock; grunge; progressive rock; rock and roll; psychedelic rock;
    rhythm and blues; soul music; reggae; country; swing music; bluegrass; funk; folk music; middle eastern music;
    jazz; disco; classical music; opera; electronic music; house music; techno; dubstep; drum and bass;
    electronica; electronic dance music; ambient music; trance music; music of latin america; salsa music;
    flamenco; blues; music for children; new-age music; vocal music; a capella; music of africa; afrobeat;
    christian music; gospel music; music of asia; carnatic music; music of bollywood; ska; traditional music;
    independent music; song; background music; theme music; jingle (music); soundtrack music; lullaby; video game
    music; christmas music; dance music; wedding music; happy music; sad music; tender music; exciting music;
    angry music; scary music; singing; choir; yodeling; chant; mantra; male singing; female singing; child
    singing; synthetic singing; rapping; humming
"""

CLASS_OF_LABEL = {
    " ".join(label.split()): name
    for name, labels in (("speech", _SPEECH), ("music", _MUSIC))
    for label in labels.split(";")
}
